import { createBackoff } from "../../base/backoff.ts";
import type { Clock, Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { assertStored, keySubject } from "../../bus/mod.ts";
import { encodeFacts, type FactStore } from "../../host/facts/mod.ts";
import type { Connection } from "../link/mod.ts";

const timeoutMs = 5_000;
const pauses = { firstMs: 10_000, longestMs: 5 * 60_000 };

/**
 * Keeps the masters' copy of this peel's facts up to date: stores them once after the start, and again after
 * each change. The first time activates the enrollment.
 */
export function publishFacts(options: {
  connection: Connection;
  /** Encoded peel id. */
  peelId: string;
  facts: FactStore;
  /** Called whenever the bus has stored them. */
  onStored(): void;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}): { stop(): void } {
  const { connection, facts, clock, jitter, log } = options;
  const subject = keySubject("facts", options.peelId);
  let ready = false;
  let stopped = false;
  let storing = false;
  let stored: string | undefined;
  const backoff = createBackoff({ ...pauses, jitter });
  let retry: Timer | undefined;

  const store = async () => {
    if (!ready || stopped || storing || !connection.connected) return;
    const value = encodeFacts(facts.items());
    const digest = sha256Hex(value);
    if (digest === stored) return;
    retry?.cancel();
    storing = true;
    try {
      assertStored(await connection.request(subject, value, timeoutMs));
      stored = digest;
      options.onStored();
      backoff.reset();
      log.debug("facts stored", { bytes: value.length });
    } catch (thrown) {
      if (stopped) return;
      const inMs = backoff.next();
      log.warn("facts not stored yet", { reason: describeError(thrown), retry_in_ms: inMs });
      retry = clock.after(inMs, store);
      return;
    } finally {
      storing = false;
    }
    // The facts may have changed while the bus stored them.
    await store();
  };

  void facts.ready.then(() => {
    ready = true;
    void store();
  });
  const forget = facts.onChange(() => void store());
  const unsubscribe = connection.onConnect(() => void store());
  return {
    stop() {
      stopped = true;
      retry?.cancel();
      forget();
      unsubscribe();
    },
  };
}
