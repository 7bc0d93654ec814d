import { rfc3339 } from "../../base/clock.ts";
import { parseCredentials } from "../../identity/credentials.ts";
import { readClaims } from "../../identity/jwt.ts";
import type { Finding } from "./step.ts";

const day = 24 * 3600_000;
/** What ends within this time is worth a look. */
export const soonMs = 30 * day;
/** What is signed and verified on two hosts tolerates less than this between their clocks. */
const clockToleranceMs = 2_000;
const clockLimitMs = 30_000;

/**
 * Judges the end of something that ends.
 *
 * @param what it is, at the start of a sentence
 * @param endsAt milliseconds since the Unix epoch; absent means never
 * @param renew what to do when it has ended or soon will
 */
export function judgeEnd(what: string, endsAt: number | undefined, now: number, renew: string): Finding {
  if (endsAt === undefined) return { level: "ok", message: `${what} does not end` };
  if (endsAt <= now) return { level: "fail", message: `${what} ended at ${rfc3339(endsAt)}`, next: renew };
  const days = Math.floor((endsAt - now) / day);
  const message = `${what} ends in ${days} ${days === 1 ? "day" : "days"}, at ${rfc3339(endsAt)}`;
  return endsAt - now < soonMs ? { level: "warn", message, next: renew } : { level: "ok", message };
}

/** Judges the text of a `.creds` file. @throws SvcError `bad_request` when it is none */
export function judgeCredentials(file: string, text: string, now: number, renew: string): Finding {
  const { exp, name } = readClaims(parseCredentials(text).jwt);
  return judgeEnd(`${file}: user ${name},`, exp === undefined ? undefined : exp * 1000, now, renew);
}

/**
 * Judges how far a clock is ahead of this host's.
 *
 * @param whose clock it is: "the bus"
 * @param uncertainMs how far the measurement may be off
 */
export function judgeClock(whose: string, aheadMs: number, uncertainMs: number): Finding {
  const off = Math.max(0, Math.abs(aheadMs) - uncertainMs);
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1);
  if (off < clockToleranceMs) return { level: "ok", message: `this clock and that of ${whose} agree` };
  return {
    level: off < clockLimitMs ? "warn" : "fail",
    message: `the clock of ${whose} is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} this one`,
    next: "set both clocks by NTP: signatures and certificates are judged by them",
  };
}
