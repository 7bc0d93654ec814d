import { rfc3339 } from "../base/clock.ts";
import { parseDuration } from "../base/duration.ts";
import { attempt, SvcError } from "../base/errors.ts";

/**
 * A moment that has passed, as operators write it: a date, a time, or how long ago.
 *
 * @param flag for the message: `--since`
 * @param now milliseconds since the Unix epoch
 * @returns RFC 3339
 * @throws SvcError `usage`
 */
export function readPastTime(flag: string, text: string, now: number): string {
  const isTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text);
  const at = isTime ? Date.parse(text) : agoOf(text, now);
  // Dates end long before numbers do.
  if (at !== undefined && !Number.isNaN(new Date(at).getTime())) return rfc3339(at);
  throw new SvcError(
    "usage",
    `${flag}: ${JSON.stringify(text.slice(0, 40))} is not a time: write 2026-01-31, 2026-01-31T09:00:00Z, or a duration ago such as 24h or 7d`,
  );
}

function agoOf(text: string, now: number): number | undefined {
  return attempt(() => now - parseDuration(text));
}
