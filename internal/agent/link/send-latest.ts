import { createBackoff } from "../../base/backoff.ts";
import type { Clock, Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Connection } from "./connection.ts";

const pauses = { firstMs: 10_000, maxMs: 5 * 60_000 };

export interface LatestOptions<Value> {
  connection: Pick<Connection, "connected" | "onConnect">;
  /** What the masters do not have yet; `undefined` when they have everything. */
  latest(): Value | undefined;
  /** Resolves when the bus has stored it; from then on `latest` does not return it. */
  send(value: Value): Promise<void>;
  /** What it is, for the log: `facts`. */
  name: string;
  /** How long after one was sent the next may be, at the earliest. */
  restMs?: number;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

/**
 * Keeps the masters' copy of a value up to date: sends the latest one, one at a time, until the bus has stored it. What
 * was replaced meanwhile is never sent.
 */
export function sendLatest<Value>(options: LatestOptions<Value>): {
  /** There may be a newer value. */
  check(): void;
  stop(): void;
} {
  const { connection, latest, send, name, restMs = 0, clock, jitter, log } = options;
  const backoff = createBackoff({ ...pauses, jitter });
  let stopped = false;
  let sending = false;
  let retry: Timer | undefined;
  let restsUntil = Number.NEGATIVE_INFINITY;

  const run = async () => {
    if (stopped || sending || !connection.connected) return;
    const value = latest();
    if (value === undefined) return;
    retry?.cancel();
    const now = clock.monotonic();
    if (now < restsUntil) {
      retry = clock.after(restsUntil - now, run);
      return;
    }
    restsUntil = now + restMs;
    sending = true;
    try {
      await send(value);
      backoff.reset();
    } catch (thrown) {
      if (stopped) return;
      const inMs = backoff.next();
      log.warn(`${name} not stored yet`, { reason: describeError(thrown), retry_in_ms: inMs });
      retry = clock.after(inMs, run);
      return;
    } finally {
      sending = false;
    }
    // There may be a newer one since.
    await run();
  };
  const check = () => void run();
  const unsubscribe = connection.onConnect(check);
  return {
    check,
    stop() {
      stopped = true;
      retry?.cancel();
      unsubscribe();
    },
  };
}
