import { type Clock, rfc3339 } from "../../base/clock.ts";
import { readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";

/** A peel asks for a statement at most so often, however often it restarts. */
const everyMs = 5 * 60_000;
const spread = 0.2;

/** When a peel may request a statement. The time of the last request is kept in a file. */
export interface Pace {
  /** How long to wait before the next question, milliseconds. */
  waitMs(): number;
  /** Notes that a request is sent now. */
  requested(): void;
}

/** @param jitter a number in [0, 1) */
export function createPace(file: string, { clock, jitter }: { clock: Clock; jitter: () => number }): Pace {
  const intervalMs = () => everyMs * (1 + spread * jitter());
  /** On a clock that does not jump. */
  let mayAt = clock.monotonic() + remaining(Date.parse(readTextIfPresent(file)?.trim() ?? ""));

  /** A time in the future comes from a clock that was wrong. */
  function remaining(lastAt: number): number {
    if (Number.isNaN(lastAt)) return 0;
    const sinceMs = clock.now() - lastAt;
    return Math.max(0, intervalMs() - Math.max(0, sinceMs));
  }
  return {
    waitMs: () => Math.max(0, mayAt - clock.monotonic()),
    requested() {
      mayAt = clock.monotonic() + intervalMs();
      try {
        writeFileAtomic(file, `${rfc3339(clock.now())}\n`, secretMode);
      } catch {
        // A full disk must not keep the peel from asking.
      }
    },
  };
}
