import { SvcError } from "../../base/errors.ts";

/** A validity period: milliseconds since the Unix epoch, on whole seconds. */
export interface Validity {
  notBefore: number;
  notAfter: number;
}

const hour = 60 * 60 * 1000;
/** Validity of the intermediate: five years (specification, "Operator CLI"). */
export const intermediateValidityMs = 5 * 365 * 24 * hour;
/** The last second that a certificate can express (RFC 5280 section 4.1.2.5). */
const endOfTime = Date.UTC(9999, 11, 31, 23, 59, 59);
/** Allows for clock skew: a new certificate must be valid at once on every host. */
const backdateMs = 5 * 60 * 1000;

/** The validity of a certificate issued now, clamped to `within`. */
export function validityFrom(nowMs: number, durationMs: number, within?: Validity): Validity {
  const second = (ms: number) => Math.floor(ms / 1000) * 1000;
  return {
    notBefore: Math.max(second(nowMs - backdateMs), within?.notBefore ?? Number.NEGATIVE_INFINITY),
    notAfter: Math.min(second(nowMs + durationMs), within?.notAfter ?? Number.POSITIVE_INFINITY),
  };
}

/** @throws SvcError `bad_request` when the validity of a root is too short or too long */
export function assertRootValidity(nowMs: number, durationMs: number): void {
  if (durationMs < hour || nowMs + durationMs > endOfTime) {
    throw new SvcError(
      "bad_request",
      "the root must be valid for at least 1h, and must expire before the year 10000",
    );
  }
}
