import { type Clock, sleep } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { shareWatch } from "../../bus/mod.ts";
import { type Directory, watchFacts } from "../../fleet/enrollment/mod.ts";
import { createFleetIndex, type FleetIndex } from "../../fleet/targeting/mod.ts";
import type { Check } from "../../program/health/mod.ts";
import type { Storage } from "./storage.ts";

/** How long a start waits for the index; then it continues, and targets are resolved by reading buckets. */
const startMs = 10_000;

export interface Targeting {
  index: FleetIndex;
  /** Whether a peel is alive; until this is known it counts as alive. */
  alive(peel: string): boolean;
  /** `target-service` of /readyz. */
  check: Check;
  stop(): void;
}

/**
 * Starts the index for targets, and the activation of peels, which uses the same facts.
 *
 * @throws the reason of the signal
 */
export async function startTargeting(options: {
  storage: Pick<Storage, "enrollments" | "facts" | "peelHeartbeats">;
  directory: Directory;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}): Promise<Targeting> {
  const { storage, directory, clock, log, signal } = options;
  const facts = shareWatch(storage.facts);
  const activating = watchFacts({ enrollments: storage.enrollments, clock, facts, directory, log });
  const index = createFleetIndex({
    members: directory.members,
    facts,
    heartbeats: storage.peelHeartbeats,
    clock,
    log,
  });
  facts.start();
  const stop = () => {
    activating.stop();
    index.stop();
  };
  const late = new AbortController();
  try {
    await Promise.race([index.ready, sleep(clock, startMs, AbortSignal.any([signal, late.signal]))]);
  } catch (thrown) {
    stop();
    throw thrown;
  } finally {
    late.abort();
  }
  if (!index.running) log.warn("the fleet is not indexed yet: targets are resolved by reading the buckets");
  return {
    index,
    alive: (peel) => !index.running || index.alive(peel),
    check: () =>
      index.running
        ? { status: "up" }
        : {
            status: "down",
            message: "the fleet is not indexed: targets are resolved by reading the buckets",
          },
    stop,
  };
}
