import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { assertStored } from "../../bus/jetstream/mod.ts";
import { keySubject } from "../../bus/subjects/subjects.ts";
import { encodeFacts, type FactStore } from "../../host/facts/mod.ts";
import { type Connection, sendLatest } from "../link/mod.ts";

const timeoutMs = 5_000;
/** 300 a minute, which is what masters let a peel send: functions may set facts much faster, and only the last counts. */
const restMs = 200;
/** What was stored less than this ago may be on its way to the masters. */
const underWayMs = 10_000;

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
}): {
  /** The bus has lost them: stores them once more. */
  repeat(): void;
  stop(): void;
} {
  const { connection, facts, clock, log } = options;
  const subject = keySubject("facts", options.peelId);
  let ready = false;
  let stored: string | undefined;
  let storedAt = Number.NEGATIVE_INFINITY;
  const sending = sendLatest({
    ...options,
    name: "facts",
    restMs,
    latest() {
      if (!ready) return undefined;
      const value = encodeFacts(facts.items());
      const digest = sha256Hex(value);
      return digest === stored ? undefined : { value, digest };
    },
    async send({ value, digest }) {
      assertStored(await connection.request(subject, value, timeoutMs));
      stored = digest;
      storedAt = clock.monotonic();
      options.onStored();
      log.debug("facts stored", { bytes: value.length });
    },
  });
  void facts.ready.then(() => {
    ready = true;
    sending.check();
  });
  const forget = facts.onChange(sending.check);
  return {
    repeat() {
      if (stored === undefined || clock.monotonic() - storedAt < underWayMs) return;
      stored = undefined;
      sending.check();
    },
    stop() {
      sending.stop();
      forget();
    },
  };
}
