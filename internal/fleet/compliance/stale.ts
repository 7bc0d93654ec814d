import * as v from "valibot";
import { durationPattern, formatDuration, parseDuration } from "../../base/duration.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { usualStaleMs } from "./status.ts";

const minMs = 1_000;

/** How long a run counts, as a field: `24h`. */
export const staleField = v.optional(
  v.pipe(
    v.string(),
    v.metadata({ pattern: durationPattern }),
    v.description("How long a run counts; a peel without a later one is stale"),
  ),
  formatDuration(usualStaleMs),
);

/** @returns milliseconds @throws SvcError `bad_request` naming the field */
export function readStale(text: string): number {
  try {
    return parseStale(text);
  } catch (thrown) {
    throw new SvcError("bad_request", `stale: ${describeError(thrown)}`);
  }
}

/** @returns milliseconds @throws SvcError `bad_request` */
export function parseStale(text: string): number {
  const ms = parseDuration(text);
  if (ms < minMs) throw new SvcError("bad_request", "must be 1s or longer");
  return ms;
}
