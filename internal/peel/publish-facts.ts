import { describeError } from "../base/errors.ts";
import { encode, type Plain } from "../base/msgpack.ts";
import type { Bus } from "../bus/connect.ts";
import { keySubject } from "../bus/subjects.ts";

const timeoutMs = 5_000;
const retryMs = 10_000;

/** Stores the peel's facts; tries again until the bus has them. */
export function publishFacts(bus: Bus, peelId: string, facts: Record<string, Plain>): { stop(): void } {
  const value = encode(facts);
  let stopped = false;
  let timer: { cancel(): void } | undefined;
  const attempt = () => {
    if (stopped) return;
    bus.nats.request(keySubject("facts", peelId), value, { timeout: timeoutMs }).catch((thrown) => {
      bus.log.warn("facts not stored yet", { reason: describeError(thrown), retry_in_ms: retryMs });
      timer = bus.clock.after(retryMs, attempt);
    });
  };
  attempt();
  return {
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}
