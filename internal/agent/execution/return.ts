import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { encodeReturn, type JobReturn } from "../../wire/return.ts";

/** The stream of returns accepts messages of 1 MiB. Half of it leaves room for the envelope. */
const maxReturnBytes = 512 * 1024;
const keptValueBytes = 256 * 1024;
const keptErrorBytes = 64 * 1024;

/** The return of a call that did not run, or did not complete. */
export function failedReturn(
  error: string,
  startedAt: number,
  durationMs: number,
  outcome?: JobReturn["outcome"],
): JobReturn {
  return {
    success: false,
    retcode: 1,
    error,
    started_at: rfc3339(startedAt),
    duration_ms: durationMs,
    ...defined({ outcome }),
  };
}

/** The return of a call when the queue is full. The specification defines the message. */
export function busyReturn(now: number): JobReturn {
  return failedReturn("peel busy: execution queue full", now, 0, "busy");
}

/**
 * Makes a return fit into the stream. A return of more than 512 KiB keeps its result, and the first part of
 * its value as text with a note that it was truncated.
 */
export function fittingReturn(result: JobReturn): JobReturn {
  const bytes = encodeReturn(result).length;
  if (bytes <= maxReturnBytes) return result;
  const { return: value, error, ...rest } = result;
  return {
    ...rest,
    ...(value === undefined ? {} : { return: cut(JSON.stringify(value), keptValueBytes) }),
    ...(error === undefined
      ? {}
      : { error: Buffer.byteLength(error) > keptErrorBytes ? cut(error, keptErrorBytes) : error }),
  };
}

function cut(text: string, keptBytes: number): string {
  const bytes = Buffer.from(text);
  // A truncated character decodes as U+FFFD.
  const kept = bytes
    .subarray(0, keptBytes)
    .toString("utf8")
    .replace(/\uFFFD$/, "");
  return `${kept}\n[cut: the first ${Math.min(keptBytes, bytes.length)} of ${bytes.length} bytes]`;
}
