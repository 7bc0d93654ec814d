import { rfc3339 } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import { encode } from "../base/msgpack.ts";
import { version } from "../base/version.ts";
import type { Bus } from "../bus/connect.ts";
import { keySubject } from "../bus/subjects.ts";

const intervalMs = 10_000;
const timeoutMs = 5_000;

/** Tells the masters every 10 s that this peel is alive; also right after each reconnect. */
export function startHeartbeat(bus: Bus, peelId: string): { stop(): void } {
  const { clock, log } = bus;
  const startedAt = rfc3339(clock.now());
  const beat = () => {
    if (!bus.connected) return;
    const value = encode({ peel_id: peelId, version, started_at: startedAt, sent_at: rfc3339(clock.now()) });
    bus.nats.request(keySubject("peel-heartbeat", peelId), value, { timeout: timeoutMs }).catch((thrown) => {
      log.warn("heartbeat not stored", { reason: describeError(thrown) });
    });
  };
  const timer = clock.every(intervalMs, beat);
  const unsubscribe = bus.onReconnect(beat);
  beat();
  return {
    stop() {
      timer.cancel();
      unsubscribe();
    },
  };
}
