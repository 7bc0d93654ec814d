import type { Clock, Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { isBeyond, isSamePosition, type Position } from "./position.ts";

const checkEveryMs = 500;
/** After this time without an answer of the bus nobody waits any longer: another master may reach it. */
const giveUpMs = 30_000;

/** Where the feed ends, looked up once for everyone who waits. */
export interface EndWatch {
  /**
   * Waits until there is more than was read.
   *
   * @param read the end as of the last read
   * @returns the end, now
   * @throws the reason of the signal; what the bus answers, when that has lasted for 30 s
   */
  beyond(read: Position, signal: AbortSignal): Promise<Position>;
  /** When the bus last said where the feed ends, on the monotonic clock; `-Infinity` before. */
  readonly lastAnswerAt: number;
  stop(): void;
}

interface Waiting {
  read: Position;
  resolve(end: Position): void;
  reject(reason: unknown): void;
}

/**
 * Looks for the end of the feed while someone waits for it. Those who wait learn of the same end, so that they read
 * the same parts.
 */
export function watchEnd(options: {
  endOf(): Promise<Position>;
  /** Called with each new end, before those who wait learn of it. */
  onEnd(): void;
  clock: Clock;
  log: Log;
}): EndWatch {
  const { clock, log } = options;
  const waiting = new Set<Waiting>();
  let timer: Timer | undefined;
  let isChecking = false;
  let latest: Position | undefined;
  let answeredAt = clock.monotonic();
  let lastAnswerAt = Number.NEGATIVE_INFINITY;

  const check = async () => {
    // A reader that comes during the request may have read further than its answer.
    const requested = [...waiting];
    const end = await options.endOf();
    latest = end;
    answeredAt = lastAnswerAt = clock.monotonic();
    options.onEnd();
    for (const one of requested) {
      if (isSamePosition(one.read, end)) continue;
      waiting.delete(one);
      one.resolve(end);
    }
  };
  const stop = () => {
    timer?.cancel();
    timer = undefined;
  };
  const tick = () => {
    if (waiting.size === 0) return stop();
    if (isChecking) return;
    isChecking = true;
    check()
      .catch((thrown) => {
        log.debug("the end of the events is not known", { reason: describeError(thrown) });
        if (clock.monotonic() - answeredAt < giveUpMs) return;
        for (const one of waiting) one.reject(thrown);
        waiting.clear();
      })
      .finally(() => {
        isChecking = false;
      });
  };
  return {
    beyond(read, signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (latest !== undefined && isBeyond(latest, read)) return Promise.resolve(latest);
      const { promise, resolve, reject } = Promise.withResolvers<Position>();
      const one = { read, resolve, reject };
      const leave = () => {
        waiting.delete(one);
        reject(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
      waiting.add(one);
      if (timer === undefined) {
        answeredAt = clock.monotonic();
        timer = clock.every(checkEveryMs, tick);
        // Nobody looked until now: what is there already is not waited for.
        tick();
      }
      return promise.finally(() => signal.removeEventListener("abort", leave));
    },
    get lastAnswerAt() {
      return lastAnswerAt;
    },
    stop,
  };
}
