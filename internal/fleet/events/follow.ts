import type { Clock } from "../../base/clock.ts";
import type { FeedSink } from "../operation/mod.ts";
import type { EventFeed } from "./feed.ts";
import type { EventFilter } from "./filter.ts";
import { formatPosition, type Position } from "./position.ts";
import { showEvent } from "./view.ts";

/** How often a reader without events learns how far it is: from there it continues when it is cut off. */
const markEveryMs = 5_000;
/** How often a reader learns that the bus answers. A page that learns nothing for longer shows itself as old. */
const beatEveryMs = 2_000;

/**
 * Sends events until the signal aborts or something fails: the reader then continues at another master.
 *
 * @throws SvcError `storage`, `rate_limited`; the reason of the signal, or of the sink when its reader is too slow
 */
export async function follow(
  options: {
    events: Pick<EventFeed, "enter" | "next" | "signal" | "lastAnswerAt">;
    filter: EventFilter;
    position: Position;
    operator: string;
    sink: FeedSink;
    clock: Pick<Clock, "monotonic" | "every">;
  },
  left: AbortSignal,
): Promise<void> {
  const { events, filter, sink, clock } = options;
  const signal = AbortSignal.any([left, events.signal]);
  const leave = events.enter(options.operator);
  const beat = clock.every(beatEveryMs, () => {
    if (clock.monotonic() - events.lastAnswerAt < beatEveryMs) sink.beat();
  });
  try {
    let { position } = options;
    let marked = formatPosition(position);
    let markedAt = clock.monotonic();
    sink.mark(marked);
    for (;;) {
      const part = await events.next(position, filter, signal);
      for (const item of part.items) {
        if (!filter.matches(item.event)) continue;
        await sink.ready(signal);
        marked = formatPosition(item.position);
        markedAt = clock.monotonic();
        sink.send("event", showEvent(item), marked);
      }
      position = part.position;
      const at = formatPosition(position);
      if (at === marked || clock.monotonic() - markedAt < markEveryMs) continue;
      marked = at;
      markedAt = clock.monotonic();
      sink.mark(at);
    }
  } finally {
    beat.cancel();
    leave();
  }
}
