import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import { described } from "../../base/schema.ts";
import { feed, limitField, operation, operatorOf } from "../operation/mod.ts";
import type { EventFeed } from "./feed.ts";
import { createFilter } from "./filter.ts";
import { follow } from "./follow.ts";
import { beginningOf, choice } from "./input.ts";
import { formatPosition, isSamePosition } from "./position.ts";
import { type ShownEvent, showEvent, shownEvent } from "./view.ts";

export interface EventsDeps {
  feed: EventFeed;
  clock: Clock;
}

export const maxEvents = 5_000;
/** How many parts of the feed one request looks at: most of what is stored may be something else. */
const maxParts = 16;

export const listEvents = operation({
  name: "events.list",
  kind: "read",
  summary: "List what happened, oldest first",
  description:
    "A page looks at a limited part of what is stored: with a filter it may be short, or empty, before the end.",
  scope: { kind: "events", action: "read" },
  input: v.strictObject({ ...choice, limit: limitField(maxEvents, "events") }),
  output: v.object({
    events: v.array(shownEvent),
    position: described(v.string(), "Where the next page begins"),
    more: described(v.boolean(), "Whether there was more when the page was read"),
  }),
  async run({ feed: events, clock }: EventsDeps, input, call) {
    const { limit } = input;
    const filter = createFilter(input);
    const leave = events.enter(operatorOf(call));
    try {
      const until = await events.end();
      let position = await beginningOf(events, input, clock.now(), async () => until);
      const found: ShownEvent[] = [];
      let bytes = 0;
      const { answerBytes: max = Number.POSITIVE_INFINITY } = call;
      for (let parts = 0; parts < maxParts; parts++) {
        if (isSamePosition(position, until)) break;
        const part = await events.read({ from: position, until, wanted: filter.wanted });
        for (const item of part.items) {
          if (!filter.matches(item.event)) continue;
          const shown = showEvent(item);
          bytes += encode(shown).length;
          if (found.length >= limit || (bytes > max && found.length > 0)) {
            return { events: found, position: found.at(-1)?.position ?? "", more: true };
          }
          found.push(shown);
        }
        position = part.position;
      }
      return { events: found, position: formatPosition(position), more: !isSamePosition(position, until) };
    } finally {
      leave();
    }
  },
});

export const streamEvents = operation({
  name: "events.follow",
  kind: "read",
  summary: "Follow what happens",
  description:
    "Server-sent events. `event`: each event as `FleetEvent`; its `id` is its position. Without `since` and without a position it begins now. `alive` comes every 2 seconds while the bus answers; a comment comes every 30 seconds. A client that was cut off continues with `Last-Event-ID`, at any master.",
  scope: { kind: "events", action: "read" },
  input: v.strictObject(choice),
  output: feed,
  async run({ feed: events, clock }: EventsDeps, input, call) {
    const filter = createFilter(input);
    const name = operatorOf(call);
    // Refused here, where there is still an answer to refuse it in.
    events.enter(name)();
    const position = await beginningOf(events, input, clock.now(), () => events.end());
    return {
      start(sink) {
        const stopping = new AbortController();
        follow({ events, filter, position, operator: name, sink, clock }, stopping.signal)
          // It never ends by itself.
          .catch((thrown) => {
            const reason = describeError(thrown);
            if (!stopping.signal.aborted) call.log.debug("a reader of events is cut off", { reason });
            sink.close(reason);
          });
        return () => stopping.abort(new Error("the reader left"));
      },
    };
  },
});
