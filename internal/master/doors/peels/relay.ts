import type { Clock } from "../../../base/clock.ts";
import { crossings, relayedSubject, relaySubject } from "../../../bus/accounts/mod.ts";
import { type Bus, mastersQueue, relay } from "../../../bus/mod.ts";
import type { Budgets } from "../../../fleet/budget/mod.ts";
import { watchPauses } from "./pauses.ts";

/** A peel waits 5 s for the acknowledgement, and then sends again. */
const timeoutMs = 4_500;
/** Where a subject has the peel. */
const peelAt = new Map(
  crossings.stored.map((pattern) => [kindOf(pattern), pattern.split(".").lastIndexOf("*")] as const),
);

/**
 * Takes what peels send to the storage of a cluster, and stores it without its headers. Servers from 2.14 on stop a
 * stream with replicas for good when one message names a wrong ID in `Nats-Expected-Last-Msg-Id`, and no permission of
 * the bus covers headers. What is dropped here, the peel sends again.
 *
 * A master that was frozen drops what waited meanwhile: another one may have stored newer facts of the peel.
 */
export function relayToStorage({
  bus,
  budgets,
  clock,
}: {
  /** The connection that messages of peels arrive on. */
  bus: Pick<Bus, "nats" | "log">;
  budgets: Pick<Budgets, "take">;
  clock: Clock;
}): { stop(): void } {
  const pauses = watchPauses(clock);
  const relaying = relay(bus, {
    subjects: crossings.stored.map(relaySubject),
    queue: mastersQueue,
    to: relayedSubject,
    admits: (to, bytes) => !pauses.isLate && budgets.take(peelOf(to), "relayed", bytes),
    timeoutMs,
  });
  return {
    stop() {
      relaying.stop();
      pauses.stop();
    },
  };
}

function peelOf(subject: string): string {
  return subject.split(".")[peelAt.get(kindOf(subject)) ?? 0] ?? "";
}

/** What the second token says: a kind of message, or a bucket. */
function kindOf(subject: string): string {
  return subject.split(".")[1] ?? "";
}
