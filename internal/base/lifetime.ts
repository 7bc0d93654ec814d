import { parseDuration } from "./duration.ts";
import { SvcError } from "./errors.ts";

/** How long something may last, in words that `parseDuration` reads. */
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
  const ms = parseDuration(text);
  if (ms >= parseDuration(min) && ms <= parseDuration(max)) return ms;
  throw new SvcError("bad_request", `${name === undefined ? "" : `${name} `}must be ${min} to ${max}`);
}
