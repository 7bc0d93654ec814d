import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";

const checkEveryMs = 15_000;

/** A stream that a session of the console opened. */
export interface LiveSession {
  /** Aborts when the client goes away, or when the session has ended. */
  readonly signal: AbortSignal;
  /** From here on the session is checked again and again: the answer is a stream. */
  follow(): void;
}

/**
 * Ends a stream with the session that opened it. A session that nobody can judge at the moment continues.
 *
 * @param options.signal aborts when the client goes away
 * @param options.judge throws for a session that does not count any more
 */
export function liveSession(options: {
  clock: Pick<Clock, "every">;
  signal: AbortSignal;
  judge(): Promise<unknown>;
}): LiveSession {
  const { clock, signal: gone, judge } = options;
  const ended = new AbortController();
  const check = () => {
    judge().catch((thrown) => {
      const { kind } = thrown instanceof SvcError ? thrown : { kind: undefined };
      if (kind === "unauthorized" || kind === "forbidden") ended.abort(thrown);
    });
  };
  return {
    signal: AbortSignal.any([gone, ended.signal]),
    follow() {
      const timer = clock.every(checkEveryMs, check);
      for (const one of [gone, ended.signal]) one.addEventListener("abort", () => timer.cancel());
      if (gone.aborted) timer.cancel();
    },
  };
}
