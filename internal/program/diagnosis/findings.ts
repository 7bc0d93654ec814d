import { rfc3339 } from "../../base/clock.ts";
import { parseCredentials, readClaims } from "../../identity/mod.ts";
import type { Finding } from "./step.ts";

const day = 24 * 3600_000;
/** An expiry within this time is a warning. */
export const soonMs = 30 * day;
/** Signatures between two hosts tolerate less clock skew than this. */
const clockToleranceMs = 2_000;
const clockLimitMs = 30_000;

/**
 * Checks an expiry time.
 *
 * @param what the subject, at the start of a sentence
 * @param endsAt milliseconds since the Unix epoch; absent means never
 * @param renew the next step when it has expired, or soon will
 */
export function judgeEnd(what: string, endsAt: number | undefined, now: number, renew: string): Finding {
  if (endsAt === undefined) return { level: "ok", message: `${what} does not expire` };
  if (endsAt <= now) return { level: "fail", message: `${what} expired at ${rfc3339(endsAt)}`, next: renew };
  const days = Math.floor((endsAt - now) / day);
  const message = `${what} expires in ${days} ${days === 1 ? "day" : "days"}, at ${rfc3339(endsAt)}`;
  return endsAt - now < soonMs ? { level: "warn", message, next: renew } : { level: "ok", message };
}

/** Checks the text of a `.creds` file. @throws SvcError `bad_request` when it is malformed */
export function judgeCredentials(file: string, text: string, now: number, renew: string): Finding {
  const { exp, name } = readClaims(parseCredentials(text).jwt);
  return judgeEnd(`${file}: user ${name},`, exp === undefined ? undefined : exp * 1000, now, renew);
}

/**
 * Checks how far a clock is ahead of this host's clock.
 *
 * @param whose owner of the clock, such as "the bus"
 * @param uncertainMs maximum error of the measurement
 */
export function judgeClock(whose: string, aheadMs: number, uncertainMs: number): Finding {
  const off = Math.max(0, Math.abs(aheadMs) - uncertainMs);
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1);
  if (off < clockToleranceMs) return { level: "ok", message: `this clock and the clock of ${whose} agree` };
  return {
    level: off < clockLimitMs ? "warn" : "fail",
    message: `the clock of ${whose} is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} this one`,
    next: "synchronize both clocks with NTP: signatures and certificates depend on them",
  };
}
