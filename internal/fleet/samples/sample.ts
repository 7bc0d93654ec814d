import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";

/** What is read at one moment: it may go up and down. */
export const levels = [
  "alive",
  "silent",
  "pending",
  "drifted",
  "states_failed",
  "stored_bytes",
  "limit_bytes",
] as const;
/** What happened since the sample before. */
export const counts = ["jobs_completed", "jobs_failed", "jobs_cancelled"] as const;

export type Level = (typeof levels)[number];
export type Count = (typeof counts)[number];
/** `null` where a master did not know it. */
export type Levels = Readonly<Record<Level, number | null>>;
export type Counts = Readonly<Record<Count, number>>;

/** How the fleet was in one minute, or in one hour. */
export interface Sample {
  /** By the clock of the bus, milliseconds since the Unix epoch; of an hour, its beginning. */
  readonly at: number;
  /** Of an hour, the mean of its minutes. */
  readonly levels: Levels;
  /** Of an hour, the sum of its minutes. */
  readonly counts: Counts;
  /** The highest of each in an hour. */
  readonly max?: Levels;
}

/** What one key of the bucket holds. */
export interface Stored {
  readonly samples: readonly Sample[];
  /** Up to which revision of the records of jobs the endings are counted in the newest of them. */
  readonly seen?: number;
}

const version = 1;
/** An hour has 60 minutes, a day 24 hours; the bytes of the largest key are well below. */
const limits = { bytes: 64 * 1024, elements: 4_096 };
const width = 1 + levels.length + counts.length;

/** Samples as they are stored: rows of numbers, because each of them has the same fields. */
export function encodeSamples({ samples, seen }: Stored): Uint8Array {
  const rows = samples.map(({ at, levels: found, counts: ended, max }) => [
    ...[Math.floor(at / 1000), ...levels.map((name) => found[name]), ...counts.map((name) => ended[name])],
    ...(max === undefined ? [] : levels.map((name) => max[name])),
  ]);
  return encode({ v: version, seen, rows });
}

/** Reads them. What is malformed counts as not stored: it is overwritten. */
export function decodeSamples(value: Uint8Array): Stored {
  const found = decodeOrNothing(value);
  if (!isMap(found) || found.v !== version || !Array.isArray(found.rows)) return { samples: [] };
  const samples = found.rows.flatMap((row) => readRow(row) ?? []);
  return isNumber(found.seen) ? { samples, seen: found.seen } : { samples };
}

function decodeOrNothing(value: Uint8Array): Plain | undefined {
  try {
    return decode(value, limits);
  } catch {
    return undefined;
  }
}

function readRow(row: Plain): Sample | undefined {
  if (!Array.isArray(row) || row.length < width) return undefined;
  const [seconds, ...numbers] = row;
  if (!isNumber(seconds) || !numbers.every((one) => one === null || isNumber(one))) return undefined;
  const values = numbers as (number | null)[];
  const levelsFrom = (start: number) =>
    Object.fromEntries(levels.map((name, at) => [name, values[start + at] ?? null])) as Levels;
  const sample = {
    at: seconds * 1000,
    levels: levelsFrom(0),
    counts: Object.fromEntries(
      counts.map((name, at) => [name, values[levels.length + at] ?? 0]),
    ) as unknown as Counts,
  };
  return values.length >= width - 1 + levels.length ? { ...sample, max: levelsFrom(width - 1) } : sample;
}

/** A count or a size: nothing else is ever written. */
function isNumber(value: Plain | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
