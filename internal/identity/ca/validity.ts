import { SvcError } from "../../base/errors.ts";

/** From when and until when, both in milliseconds since the Unix epoch, on whole seconds. */
export interface Validity {
  notBefore: number;
  notAfter: number;
}

const hour = 60 * 60 * 1000;
/** How long the intermediate signs: five years (specification, "Operator CLI"). */
export const intermediateValidityMs = 5 * 365 * 24 * hour;
/** The last second a certificate can name (RFC 5280 section 4.1.2.5). */
const endOfTime = Date.UTC(9999, 11, 31, 23, 59, 59);
/** Clocks of a fleet differ: what was issued just now must already count everywhere. */
const backdateMs = 5 * 60 * 1000;

/** The validity of something issued now, never outside `within`. */
export function validityFrom(nowMs: number, durationMs: number, within?: Validity): Validity {
  const second = (ms: number) => Math.floor(ms / 1000) * 1000;
  return {
    notBefore: Math.max(second(nowMs - backdateMs), within?.notBefore ?? Number.NEGATIVE_INFINITY),
    notAfter: Math.min(second(nowMs + durationMs), within?.notAfter ?? Number.POSITIVE_INFINITY),
  };
}

/** @throws SvcError `bad_request` for a root that lives too short or too long */
export function assertRootValidity(nowMs: number, durationMs: number): void {
  if (durationMs < hour || nowMs + durationMs > endOfTime) {
    throw new SvcError("bad_request", "the root must be valid for at least 1h and not beyond the year 9999");
  }
}
