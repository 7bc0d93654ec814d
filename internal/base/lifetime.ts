import { parseDuration } from "./duration.ts";
import { SvcError } from "./errors.ts";

const dayMs = 24 * 3_600_000;

/**
 * Parses how long something is to last: `90d`, or a duration such as `12h`.
 *
 * @returns milliseconds
 * @throws SvcError `bad_request` when the text is neither
 */
export function parseLifetime(text: string): number {
  const days = /^(\d{1,6})d$/.exec(text)?.[1];
  return days === undefined ? parseDuration(text) : Number(days) * dayMs;
}

/** How long something may last, in words that `parseLifetime` reads. */
export interface LifetimeLimits {
  min: string;
  max: string;
}

/**
 * Parses how long something is to last, within limits.
 *
 * @param name of the value, for the message; an option names itself
 * @throws SvcError `bad_request`
 */
export function parseLifetimeWithin(text: string, { min, max }: LifetimeLimits, name?: string): number {
  const ms = parseLifetime(text);
  if (ms >= parseLifetime(min) && ms <= parseLifetime(max)) return ms;
  throw new SvcError("bad_request", `${name === undefined ? "" : `${name} `}must be ${min} to ${max}`);
}
