import { parseDuration } from "./duration.ts";

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
