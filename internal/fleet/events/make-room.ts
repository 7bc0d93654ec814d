import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { discardOldest, trimSenders } from "../../bus/streams/mod.ts";
import { eventSubject, parseEventSubject } from "../../bus/subjects/subjects.ts";
import type { LogLines } from "../budget/mod.ts";
import { masterSource } from "../reactor/events/mod.ts";

const stream = "events";
const intervalMs = 10_000;

export interface EventRoomDeps {
  bus: Bus;
  /** Whether this master does the work: one of them is enough. */
  isTurn(): boolean;
  metrics: { messagesDiscarded(stream: string, count: number): void };
  lines: Pick<LogLines, "say">;
  clock: Clock;
  log: Log;
}

/**
 * Keeps room for events, whether there is a reactor or not. First go the oldest events of peels that sent more than
 * their part; then the oldest ones of all, those last that the reactor has not handled.
 */
export function makeRoomForEvents(deps: EventRoomDeps): { stop(): void } {
  const { isTurn, clock, log } = deps;
  let busy = false;
  const timer = clock.every(intervalMs, () => {
    if (busy || !isTurn()) return;
    busy = true;
    makeRoom(deps)
      .catch((thrown) => log.debug("no room was made", { stream, reason: describeError(thrown) }))
      .finally(() => {
        busy = false;
      });
  });
  return { stop: () => timer.cancel() };
}

/** Removes old events once. @throws SvcError `storage` */
export async function makeRoom({ bus, metrics, lines, clock, log }: Omit<EventRoomDeps, "isTurn">) {
  const trimmed = await trimSenders(bus, stream, {
    filter: eventSubject("*", ">"),
    senderOf(subject) {
      const source = parseEventSubject(subject)?.peel;
      return source === masterSource ? undefined : source;
    },
    filterOf: (peel) => eventSubject(peel, ">"),
  });
  if (trimmed === undefined) return;
  for (const [peel, events] of trimmed) {
    metrics.messagesDiscarded(stream, events);
    lines.say("warn", "old events of a peel are discarded: it sent more than its part", peel, { events });
  }
  const { messages, needed } = await discardOldest(bus, stream, clock.now());
  if (messages === 0) return;
  metrics.messagesDiscarded(stream, messages);
  if (needed)
    log.error("events are discarded before they were handled: the stream was full", { stream, messages });
  else log.warn("old events are discarded to make room", { stream, messages });
}
