import type { Event } from "../reactor/events/mod.ts";
import { createTagIndex, matchesSource } from "../reactor/mod.ts";
import { canMatch } from "../reactor/rules/mod.ts";
import { type FeedStream, feedStreams } from "./position.ts";
import { tagShapes } from "./read-message.ts";

/** Which events are wanted. */
export interface EventFilter {
  /** The streams that may hold such events. */
  readonly wanted: ReadonlySet<FeedStream>;
  matches(event: Event): boolean;
}

/**
 * @param tag a glob on tags, as in a rule of the reactor
 * @param source a glob on peel ids, encoded or with dots
 */
export function createFilter({
  tag,
  source,
}: {
  tag?: string | undefined;
  source?: string | undefined;
}): EventFilter {
  const index = tag === undefined ? undefined : createTagIndex([[tag]]);
  const mayHold = (stream: FeedStream) => {
    const shapes = tagShapes[stream];
    return tag === undefined || shapes === undefined || shapes.some((shape) => canMatch(tag, shape));
  };
  return {
    wanted: new Set(feedStreams.filter(mayHold)),
    matches: (event) =>
      (index === undefined || index.find(event.tag).length > 0) &&
      (source === undefined || matchesSource({ source }, event)),
  };
}
