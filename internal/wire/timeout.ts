import { parseDuration, sayDuration } from "../base/duration.ts";
import { SvcError } from "../base/errors.ts";

const defaultTimeoutMs = 60_000;
const maxTimeoutMs = 24 * 60 * 60 * 1000;

/**
 * The timeout of a request, milliseconds.
 *
 * @throws SvcError `bad_request`
 */
export function timeoutOf(text: string | undefined): number {
  if (text === undefined) return defaultTimeoutMs;
  let timeoutMs: number;
  try {
    timeoutMs = parseDuration(text);
  } catch (cause) {
    throw new SvcError("bad_request", `timeout: ${cause instanceof Error ? cause.message : "bad duration"}`);
  }
  if (timeoutMs < 1 || timeoutMs > maxTimeoutMs) {
    throw new SvcError("bad_request", `timeout must be 1ms to ${sayDuration(maxTimeoutMs)}`);
  }
  return timeoutMs;
}
