import { parseDuration, sayDuration } from "../base/duration.ts";
import { SvcError } from "../base/errors.ts";

const hour = 3_600_000;
const minMs = 1_000;
/** Jobs are kept for seven days, and one that starts right before the deadline may run for a day. */
const maxMs = 6 * 24 * hour;
const byDefault = 24 * hour;

/**
 * How long after its start a rollout begins waves, milliseconds. Masters go by it, and peels that verify what an
 * operator signed.
 *
 * @param text `deadline` of the request
 * @throws SvcError `bad_request`
 */
export function rolloutDeadline(text: string | undefined): number {
  if (text === undefined) return byDefault;
  let ms: number;
  try {
    ms = parseDuration(text);
  } catch (cause) {
    throw new SvcError("bad_request", `deadline: ${cause instanceof Error ? cause.message : "bad duration"}`);
  }
  if (ms >= minMs && ms <= maxMs) return ms;
  throw new SvcError("bad_request", `deadline: must be ${sayDuration(minMs)} to ${sayDuration(maxMs)}`);
}
