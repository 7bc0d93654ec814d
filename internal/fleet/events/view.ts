import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { jsonOf } from "../../base/json-of.ts";
import type { Plain } from "../../base/msgpack.ts";
import { displayPeelId, isPeelId, namesOf } from "../../base/names/peel-id.ts";
import { described, plainMap, timestamp, titled } from "../../base/schema.ts";
import { type Event, masterSource } from "../reactor/events/mod.ts";
import { formatPosition } from "./position.ts";
import type { FeedItem } from "./read-chunk.ts";

/** An event as REST, the bus and `svc` show it. */
export const shownEvent = titled(
  "FleetEvent",
  v.object({
    id: described(v.string(), "Names it; the same for every reader"),
    at: described(timestamp, "When the bus stored it"),
    tag: described(v.string(), "What happened: segments with `/` between them"),
    source: described(
      v.string(),
      "The peel that sent it or that it is about, with dots; `_master` for an event of the masters",
    ),
    peel: v.exactOptional(described(v.string(), "Peel id with dots, where the source is a peel")),
    peel_id: v.exactOptional(described(v.string(), "The same, encoded")),
    origin: described(
      v.picklist(["peel", "service"]),
      "Source of the event. What a peel reports about itself is not verified, except its identity",
    ),
    data: described(plainMap, "Details; bytes are base64"),
    position: described(v.string(), "Where to continue after it"),
  }),
);
export type ShownEvent = v.InferOutput<typeof shownEvent>;

export function showEvent({ event, position }: FeedItem): ShownEvent {
  const { id, at, tag, source, origin } = event;
  const isPeel = source !== masterSource;
  return {
    ...{ id, at: rfc3339(at), tag, source: isPeel ? displayPeelId(source) : source },
    ...(isPeel ? namesOf(source) : {}),
    ...{ origin, data: jsonOf(named(event)) as Record<string, Plain> },
    position: formatPosition(position),
  };
}

/**
 * What masters say of a peel names it as all data does. The data that rules read has its encoded id. What a
 * peel says stays as it is.
 */
function named({ origin, data }: Event): Plain {
  const { peel_id: peelId } = data;
  if (origin === "peel" || typeof peelId !== "string" || !isPeelId(peelId)) return data as Plain;
  return { ...data, ...namesOf(peelId) };
}
