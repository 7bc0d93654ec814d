import type { Life } from "./life.ts";

const renewAt = 2 / 3;
const spread = 0.1;
const fewLeft = 1 / 6;
/** So often a server may refuse the credentials before new ones are fetched. */
const maxRefusals = 3;
/** How long it may refuse them, whatever the number of requests. */
const minRefusedMs = 40_000;
const maxRefusedMs = 60_000;

/**
 * After how much of a lifetime credentials are renewed: two thirds, ten percent sooner or later.
 *
 * @param chance in [0, 1), drawn once for each issue
 */
export function renewAfterMs(lengthMs: number, chance: number): number {
  return lengthMs * renewAt * (1 - spread + 2 * spread * chance);
}

/** How far the renewals of peels are apart that find out at the same moment that they are late. */
export function lateSpreadMs(lengthMs: number): number {
  return Math.min(10 * 60_000, lengthMs / 12);
}

/** Whether so little is left of a lifetime that a person should look. */
export function isShort(life: Life): boolean {
  return life.leftMs < life.lengthMs * fewLeft;
}

/** What keeps a peel off the bus. */
export interface Blocked {
  /** The file is missing or damaged. */
  unusable: boolean;
  /** How often servers refused the credentials since the last connection. */
  refusals: number;
  /** Since the first of these refusals. */
  refusedForMs: number;
  /** The lifetime is over. */
  isEnded: boolean;
}

/** Whether a peel that is not connected needs new credentials. */
export function mustRecover({ unusable, refusals, refusedForMs, isEnded }: Blocked): boolean {
  if (unusable || isEnded) return true;
  return refusals >= maxRefusals || (refusals > 0 && refusedForMs >= minRefusedMs);
}

/** How long after the first refusal it is checked again, at most. @param chance in [0, 1) */
export function refusedWaitMs(refusedForMs: number, chance: number): number {
  return Math.max(0, minRefusedMs + (maxRefusedMs - minRefusedMs) * chance - refusedForMs);
}
