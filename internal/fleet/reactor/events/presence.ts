import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { createSlots } from "../../../base/slots.ts";
import type { Bus } from "../../../bus/connection/mod.ts";
import { append, lastOn } from "../../../bus/streams/mod.ts";
import { eventSubject } from "../../../bus/subjects/subjects.ts";
import { decodeServiceEvent, encodeServiceEvent } from "../../../wire/peel-event.ts";
import { aliveMs, type FleetIndex } from "../../targeting/mod.ts";
import { masterSource, peelFields } from "./event.ts";

const checkMs = 5_000;
/**
 * A peel that said goodbye, or whose connection ended, is lost after this time without a heartbeat: one that starts
 * again is back by then.
 */
const restartMs = 10_000;
/** A check that runs this late was delayed: heartbeats may still be unread. */
const lateMs = 2 * checkMs;
const againMs = 10_000;
/** Reports at a time: a whole site may be lost at once. */
const maxAtOnce = 32;

/** The report about a peel: it fell silent, or it is back. */
export type Presence = "lost" | "regained";

export interface PresenceOptions {
  bus: Bus;
  index: Pick<FleetIndex, "alive" | "caughtUp" | "onBeat" | "running">;
  /** Encoded peel ids of the fleet's members. */
  members(): readonly string[];
  /** Whether a peel is a member. */
  isMember(peel: string): boolean;
  /**
   * Called after each check of the heartbeats, except right after an outage, when peels first get time to send one.
   */
  onCheck?(): void;
  clock: Clock;
  log: Log;
}

/** A peel with a heartbeat since this master started to follow the fleet. */
interface Seen {
  /** Revision of its last heartbeat, or of its first one after a loss until that is reported. */
  revision: number;
  lost: boolean;
  /** When its last heartbeat arrived, and since when it is missing, by the monotonic clock. */
  seenAt: number;
  missedAt?: number;
}

/**
 * Reports members that fall silent, and members that are back, to the reactor. Every master watches
 * and reports. A report names its heartbeat and is stored only after the previous report about the peel, so
 * that the stream has each loss and each return once. A master does not report what happened before it
 * started, nor silence while the bus was unreachable.
 */
export function followPresence(options: PresenceOptions): { stop(): Promise<void> } {
  const { bus, index, clock, log } = options;
  const seen = new Map<string, Seen>();
  const reports = createReports(options);
  /** No peel counts as silent before this time, on the monotonic clock. */
  let patientUntil = clock.monotonic() + aliveMs;
  let checkedAt = clock.monotonic();
  let checking = false;

  const onBeat = (peel: string, revision: number) => {
    const known = seen.get(peel);
    if (known === undefined) {
      seen.set(peel, { revision, lost: false, seenAt: clock.monotonic() });
      return;
    }
    known.revision = revision;
    known.seenAt = clock.monotonic();
    delete known.missedAt;
    if (!known.lost) return;
    known.lost = false;
    if (options.isMember(peel)) reports.send(peel, "regained", revision);
  };
  const check = async () => {
    const now = clock.monotonic();
    if (now - checkedAt > lateMs || !bus.connected || !index.running) patientUntil = now + aliveMs;
    checkedAt = now;
    if (now < patientUntil) return;
    // A stored heartbeat that was not read yet is a sign of life too. While all are alive, nothing needs to be read.
    if (options.members().some((peel) => !index.alive(peel))) {
      await index.caughtUp({ facts: false, heartbeats: true });
    }
    for (const peel of options.members()) {
      const known = seen.get(peel);
      if (known === undefined || known.lost || index.alive(peel)) continue;
      known.missedAt ??= now;
      if (now - known.missedAt < restartMs && now - known.seenAt < aliveMs) continue;
      known.lost = true;
      reports.send(peel, "lost", known.revision);
    }
    for (const [peel, { lost }] of seen) if (lost && !options.isMember(peel)) seen.delete(peel);
    options.onCheck?.();
  };
  const unsubscribe = index.onBeat(onBeat);
  const stopPatience = bus.onReconnect(() => {
    patientUntil = clock.monotonic() + aliveMs;
  });
  const timer = clock.every(checkMs, () => {
    if (checking) return;
    checking = true;
    check()
      .catch((thrown) => log.debug("heartbeats not looked at", { reason: describeError(thrown) }))
      .finally(() => {
        checking = false;
      });
  });
  return {
    async stop() {
      timer.cancel();
      unsubscribe();
      stopPatience();
      await reports.stop();
    },
  };
}

/** Sends reports, each until it is stored or the master stops. */
function createReports({ bus, clock, log }: PresenceOptions) {
  const sending = new Set<Promise<void>>();
  const slots = createSlots({ atOnce: maxAtOnce });
  let stopped = false;
  const send = (peel: string, presence: Presence, revision: number) => {
    const attempt = async () => {
      if (stopped) return;
      try {
        if (await reportOnce(bus, peel, presence, revision))
          log.info(presence === "lost" ? "peel lost" : "peel regained", { peel_id: peel });
      } catch (thrown) {
        if (stopped) return;
        log.warn("the reactor was not notified of a peel yet", {
          ...{ peel_id: peel, presence, reason: describeError(thrown), retry_in_ms: againMs },
        });
        clock.after(againMs, () => stopped || send(peel, presence, revision));
      }
    };
    const sent = slots.run(attempt).finally(() => sending.delete(sent));
    sending.add(sent);
  };
  return {
    send,
    async stop() {
      stopped = true;
      await Promise.all(sending);
    },
  };
}

/**
 * Stores a report about a peel, unless the same or a newer one is already stored.
 *
 * @param revision revision of the heartbeat in the report
 * @returns whether this call stored it
 * @throws SvcError `unavailable`
 */
export async function reportOnce(
  bus: Bus,
  peel: string,
  presence: Presence,
  revision: number,
): Promise<boolean> {
  const subject = eventSubject(masterSource, `svc.peel.${peel}.${presence}`);
  const last = await lastOn(bus, "events", subject);
  if (last !== undefined && revisionOf(last.data) >= revision) return false;
  const data = { ...peelFields(peel), revision };
  const message = encodeServiceEvent({ data, source: peel, depth: 0 });
  return append(bus, subject, message, { after: last?.sequence ?? 0 });
}

function revisionOf(message: Uint8Array): number {
  try {
    const { revision } = decodeServiceEvent(message).data;
    return typeof revision === "number" ? revision : 0;
  } catch {
    return 0;
  }
}
