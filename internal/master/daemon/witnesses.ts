import type { Clock } from "../../base/clock.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { hintSubject } from "../../bus/subjects/subjects.ts";

const everyMs = 60_000;
/** How many peels learn of the newest entry each time. */
const atOnce = 3;

/**
 * Lets a few connected peels say hello after each minute in which the audit grew: with the answer they learn of its
 * newest entry. Otherwise a peel whose connection lasts for months would remember an old one.
 */
export function maintainWitnesses(options: {
  bus: Pick<Bus, "publish">;
  /** The newest entry, signed. */
  auditHead(): Uint8Array | undefined;
  /** Encoded ids of the peels that are connected now. */
  connected(): readonly string[];
  clock: Pick<Clock, "every">;
  /** A number in [0, 1). */
  jitter: () => number;
}): { stop(): void } {
  const { bus, auditHead, connected, clock, jitter } = options;
  let reported = auditHead();
  const timer = clock.every(everyMs, () => {
    const head = auditHead();
    if (head === reported) return;
    reported = head;
    const peels = [...connected()];
    for (let count = 0; count < atOnce && peels.length > 0; count++) {
      const [peel = ""] = peels.splice(Math.floor(jitter() * peels.length), 1);
      bus.publish(hintSubject(peel), new Uint8Array());
    }
  });
  return { stop: timer.cancel };
}
