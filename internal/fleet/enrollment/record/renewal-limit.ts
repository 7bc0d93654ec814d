import type { Enrollment } from "./record.ts";

const windowMs = 10 * 60_000;
const maxInWindow = 6;
/** With credentials that last less, a peel renews more often than in the usual window. */
const shortLivedMs = 40 * 60_000;
const maxInLifetime = 4;

/**
 * Whether a peel renewed too often to do it now. It is counted from the record, so that all masters agree.
 *
 * @param validityMs how long the credentials last
 */
export function renewsTooOften(
  { recentRenewals = [] }: Pick<Enrollment, "recentRenewals">,
  validityMs: number,
  now: number,
): boolean {
  const isShort = validityMs < shortLivedMs;
  const since = now - (isShort ? validityMs : windowMs);
  const max = isShort ? maxInLifetime : maxInWindow;
  return recentRenewals.filter((at) => at > since).length >= max;
}

/** The times of the last renewals, including one now: as many as the limit needs. */
export function recentRenewals(
  { recentRenewals = [] }: Pick<Enrollment, "recentRenewals">,
  now: number,
): number[] {
  return [...recentRenewals, now].slice(-maxInWindow);
}
