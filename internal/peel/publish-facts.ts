import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { encode, type Plain } from "../base/msgpack.ts";
import { keySubject } from "../bus/subjects.ts";
import type { Connection } from "./connection.ts";

const timeoutMs = 5_000;
const retryMs = 10_000;

/** Stores the peel's facts; tries again until the bus has them. */
export function publishFacts(options: {
  connection: Connection;
  peelId: string;
  facts: Record<string, Plain>;
  clock: Clock;
  log: Log;
}): { stop(): void } {
  const { connection, clock, log } = options;
  const value = encode(options.facts);
  let stopped = false;
  let timer: { cancel(): void } | undefined;
  const attempt = () => {
    if (stopped) return;
    connection.request(keySubject("facts", options.peelId), value, timeoutMs).catch((thrown) => {
      if (stopped) return;
      log.warn("facts not stored yet", { reason: describeError(thrown), retry_in_ms: retryMs });
      timer = clock.after(retryMs, attempt);
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
