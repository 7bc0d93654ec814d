import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { encode } from "../../base/msgpack.ts";
import { version } from "../../base/version.ts";
import { keySubject } from "../../bus/mod.ts";
import type { Connection } from "./connection.ts";

const intervalMs = 10_000;
const timeoutMs = 5_000;

export interface Heartbeat {
  /** Stores one heartbeat now. @throws when the bus did not store it */
  store(): Promise<void>;
  stop(): void;
}

/** Sends a heartbeat to the masters every 10 s, and right after each connect. */
export function startHeartbeat(options: {
  connection: Connection;
  peelId: string;
  clock: Clock;
  log: Log;
}): Heartbeat {
  const { connection, peelId, clock, log } = options;
  const startedAt = rfc3339(clock.now());
  const store = async () => {
    const value = encode({ peel_id: peelId, version, started_at: startedAt, sent_at: rfc3339(clock.now()) });
    await connection.request(keySubject("peel-heartbeat", peelId), value, timeoutMs);
  };
  const beat = () => {
    if (!connection.connected) return;
    store().catch((thrown) => log.warn("heartbeat not stored", { reason: describeError(thrown) }));
  };
  const timer = clock.every(intervalMs, beat);
  const unsubscribe = connection.onConnect(beat);
  return {
    store,
    stop() {
      timer.cancel();
      unsubscribe();
    },
  };
}
