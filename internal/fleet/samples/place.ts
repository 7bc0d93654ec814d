// Keys come around: a sample overwrites the one of the same minute a day before, or of the same hour 90 days before.
// So nothing is ever removed, and what is stored does not grow with the age of the fleet.

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const keptDays = 90;
/** By how much the clocks of two masters may differ while both count as right. */
export const aheadMs = minuteMs;

/** Two samples of one slot are the same sample. */
export interface Cycle {
  /** How long a slot is. */
  readonly slotMs: number;
  /** How long a sample counts. */
  readonly keptMs: number;
  /** The key that holds the samples of this time. */
  keyOf(at: number): string;
}

/** One sample a minute for 24 hours: a key for each hour of the day. */
export const minutes: Cycle = {
  slotMs: minuteMs,
  keptMs: dayMs,
  keyOf: (at) => `minute.${twoDigits(Math.floor(at / hourMs) % 24)}`,
};

/** One sample an hour for 90 days: a key for each day. */
export const hours: Cycle = {
  slotMs: hourMs,
  keptMs: keptDays * dayMs,
  keyOf: (at) => `hour.${twoDigits(Math.floor(at / dayMs) % keptDays)}`,
};

const twoDigits = (number: number): string => String(number).padStart(2, "0");

const keys = new Map<string, Cycle>([
  ...Array.from({ length: 24 }, (_, at) => [minutes.keyOf(at * hourMs), minutes] as const),
  ...Array.from({ length: keptDays }, (_, at) => [hours.keyOf(at * dayMs), hours] as const),
]);

/** @returns `undefined` for a key that masters never write */
export const cycleOf = (key: string): Cycle | undefined => keys.get(key);

export const slotOf = (at: number, { slotMs }: Cycle): number => Math.floor(at / slotMs);
