import type { Clock } from "../../base/clock.ts";
import { createShares } from "../../base/shares.ts";
import { crossings, fromSiteSubject, type Origin, originOf, relaySubject } from "../../bus/accounts/mod.ts";
import { type Bus, relay } from "../../bus/connection/mod.ts";
import { mastersQueue } from "../../bus/subjects/subjects.ts";
import { type Budgets, type LogLines, sentAs, watchPauses } from "../../fleet/budget/mod.ts";

/** A peel waits 5 s for the acknowledgement, and then sends again. */
const timeoutMs = 4_500;
const mebibyte = 1024 * 1024;
/**
 * What waits for its acknowledgement at the same time, of all peels and of one. An honest peel has 32 messages of its
 * outbox under way, its facts and its heartbeat.
 */
const waiting = {
  sum: { count: 16_384, bytes: 128 * mebibyte },
  each: { count: 64, bytes: 4 * mebibyte },
};

export interface RelayDeps {
  /** The connection that messages of peels arrive on. */
  bus: Pick<Bus, "nats" | "clock" | "log">;
  /** Whether a message counts: not of a suspended peel, and over the link of a site only of peels of that site. */
  admits(origin: Origin): boolean;
  budgets: Pick<Budgets, "take" | "note">;
  lines: Pick<LogLines, "say">;
  metrics: { relayed(outcome: "answered" | "unanswered" | "full" | "late"): void };
  clock: Clock;
}

/**
 * Takes what peels send to the storage of a cluster, or over the link of a site, and stores it without its headers.
 * Servers from 2.14 on stop a stream with replicas for good when one message names a wrong ID in
 * `Nats-Expected-Last-Msg-Id`, and no permission of the bus covers headers. What is dropped here, the peel sends again.
 *
 * A master that was frozen drops what waited meanwhile: another one may have stored newer facts of the peel.
 */
export function relayToStorage({ bus, admits, budgets, lines, metrics, clock }: RelayDeps): {
  stop(): Promise<void>;
} {
  const pauses = watchPauses(clock);
  const shares = createShares(waiting);
  /** What is stored is counted where it is read, unless all of its kind is watched as it is sent. */
  const drop = ({ peel, site, subject }: Origin, bytes: number): undefined => {
    const { kind, isWatched } = sentAs(subject);
    if (site !== undefined || !isWatched) budgets.note(peel, kind, bytes);
  };
  const relaying = relay(bus, {
    subjects: crossings.stored.flatMap((subject) => [relaySubject(subject), fromSiteSubject("*", subject)]),
    queue: mastersQueue,
    admit(subject, bytes) {
      const origin = originOf(subject);
      // First: a site must not use up what other peels may send.
      if (!admits(origin)) return undefined;
      const { peel } = origin;
      // What waited in a frozen master is not a flood.
      if (pauses.isLate) return void metrics.relayed("late");
      if (!budgets.take(peel, "relayed", bytes)) return drop(origin, bytes);
      const giveBack = shares.take(peel, bytes);
      if (giveBack === undefined) {
        lines.say("warn", "message of a peel not relayed: too much waits for the storage", peel);
        metrics.relayed("full");
        return drop(origin, bytes);
      }
      const { kind, isWatched } = sentAs(origin.subject);
      if (origin.site !== undefined && isWatched) budgets.note(peel, kind, bytes);
      return {
        to: origin.subject,
        finish(isAnswered) {
          giveBack();
          metrics.relayed(isAnswered ? "answered" : "unanswered");
        },
      };
    },
    ignored(subject, bytes) {
      const origin = originOf(subject);
      if (admits(origin) && !pauses.isLate) drop(origin, bytes);
    },
    timeoutMs,
  });
  return {
    async stop() {
      await relaying.stop();
      pauses.stop();
    },
  };
}
