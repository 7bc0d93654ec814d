import { createBackoff } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";

const pauses = { firstMs: 10_000, maxMs: 3_600_000 };

/**
 * Provisions again while streams have fewer replicas than are wanted on the servers that there are now: a master
 * can start while a cluster is still forming, and clusters grow.
 *
 * @param options.provision creates and adjusts all storage, once
 * @param options.wanted how many replicas each stream should have now
 * @returns what to call with the streams each time they were measured
 */
export function growReplicas(options: {
  provision: () => Promise<unknown>;
  wanted: () => number;
  clock: Pick<Clock, "monotonic">;
}): (streams: readonly { replicas: number }[]) => Promise<void> {
  const { provision, wanted, clock } = options;
  const backoff = createBackoff(pauses);
  let notBefore = 0;
  return async (streams) => {
    if (streams.every(({ replicas }) => replicas >= wanted())) {
      backoff.reset();
      notBefore = 0;
      return;
    }
    if (clock.monotonic() < notBefore) return;
    // The log names each stream that the cluster cannot give more replicas: not at every measurement.
    notBefore = clock.monotonic() + backoff.next();
    await provision();
  };
}
