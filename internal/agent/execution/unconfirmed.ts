import type { Clock, Timer } from "../../base/clock.ts";

/**
 * Masters send a command again after 2 s, and others after 5 s at the latest: before the deadline, whatever happens.
 */
const minLeftMs = 10_000;
/** A function that takes longer has its command sent again while it runs, and then not so soon after it. */
const maxMs = 1_000;
/** A larger return costs more to send twice than its confirmation. */
const maxBytesEach = 4 * 1024;
const maxBytes = 1024 * 1024;
/** Minimum time between checks for those that masters no longer request. */
const checkMs = 60_000;

/** Returns that were sent without asking for a confirmation, until masters have had time to ask for them again. */
export interface Unconfirmed {
  /**
   * Keeps a return.
   *
   * @param deadline of the job, milliseconds since the Unix epoch
   * @param durationMs how long the function took
   * @returns false where it should be confirmed: masters may not ask again in time, or there is no room for it
   */
  retain(jid: string, payload: Uint8Array, deadline: number, durationMs: number): boolean;
  /** Hands out a return that is requested again, once. */
  take(jid: string): Uint8Array | undefined;
  /** What the kept returns take, bytes. */
  readonly bytes: number;
  stop(): void;
}

export function createUnconfirmed(clock: Pick<Clock, "now" | "after">): Unconfirmed {
  const kept = new Map<string, { payload: Uint8Array; deadline: number }>();
  let bytes = 0;
  let timer: Timer | undefined;
  const forget = (jid: string, size: number) => {
    kept.delete(jid);
    bytes -= size;
  };
  const forgetEnded = () => {
    const now = clock.now();
    for (const [jid, { payload, deadline }] of kept) if (deadline <= now) forget(jid, payload.length);
  };
  /** One timer for all: one for each would wake up the peel as often. */
  const check = () => {
    forgetEnded();
    const next = [...kept.values()].reduce((min, { deadline }) => Math.min(min, deadline), Infinity);
    timer = kept.size === 0 ? undefined : clock.after(Math.max(checkMs, next - clock.now()), check);
  };
  return {
    retain(jid, payload, deadline, durationMs) {
      if (durationMs > maxMs || deadline - clock.now() < minLeftMs) return false;
      if (payload.length > maxBytesEach) return false;
      if (bytes + payload.length > maxBytes) forgetEnded();
      if (bytes + payload.length > maxBytes) return false;
      // A copy: the encoder's bytes are a part of a buffer that many messages share, and would keep all of it.
      kept.set(jid, { payload: Uint8Array.from(payload), deadline });
      timer ??= clock.after(checkMs, check);
      bytes += payload.length;
      return true;
    },
    take(jid) {
      const found = kept.get(jid)?.payload;
      if (found !== undefined) forget(jid, found.length);
      return found;
    },
    get bytes() {
      return bytes;
    },
    stop: () => timer?.cancel(),
  };
}
