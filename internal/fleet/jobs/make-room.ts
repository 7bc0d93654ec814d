import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { type Discarded, discardOldest } from "../../bus/streams/mod.ts";

const stream = "job-events";
const intervalMs = 5_000;
/** The clock of the bus may differ, and a job that just ended is still read. */
const marginMs = 10_000;

export interface MakeRoomDeps {
  bus: Bus;
  /** When the oldest job was created that has not ended, milliseconds since the Unix epoch. */
  oldestRunning: () => number | undefined;
  metrics: { messagesDiscarded(stream: string, count: number): void };
  clock: Clock;
  log: Log;
}

/** Keeps room for what peels send back: what belongs to jobs that have ended goes before it is a week old. */
export function makeRoomForReturns(deps: MakeRoomDeps): { stop(): void } {
  const { clock, log } = deps;
  let busy = false;
  const timer = clock.every(intervalMs, () => {
    if (busy) return;
    busy = true;
    makeRoom(deps)
      .catch((thrown) => log.debug("no room was made", { stream, reason: describeError(thrown) }))
      .finally(() => {
        busy = false;
      });
  });
  return { stop: () => timer.cancel() };
}

/** Removes old messages once. @throws SvcError `storage` */
async function makeRoom(deps: MakeRoomDeps): Promise<Discarded> {
  const { bus, oldestRunning, metrics, clock, log } = deps;
  const now = clock.now();
  const neededSince = Math.min(now, oldestRunning() ?? now) - marginMs;
  const discarded = await discardOldest(bus, stream, neededSince);
  const { messages, needed } = discarded;
  if (messages === 0) return discarded;
  metrics.messagesDiscarded(stream, messages);
  if (needed) log.error("messages of running jobs are discarded: the stream was full", { stream, messages });
  else log.warn("old messages of jobs are discarded to make room", { stream, messages });
  return discarded;
}
