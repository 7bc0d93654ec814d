import { streamName } from "../../bus/assets/mod.ts";
import { type PlacedMessage, readRange } from "../../bus/streams/mod.ts";
import type { Event } from "../reactor/events/mod.ts";
import { inOrder, type Reading } from "./merge.ts";
import { type FeedStream, feedStreams, type Position } from "./position.ts";
import { type ReadDeps, readMessage } from "./read-message.ts";

/** How much of a stream is read at once. */
const maxMessages = 512;
const maxBytes = 1024 * 1024;

/** An event, and the position behind it. */
export interface FeedItem {
  event: Event;
  position: Position;
}

/** A part of the feed. */
export interface Chunk {
  /** By the time when the bus stored them; those of one stream in its order. */
  items: readonly FeedItem[];
  /** Where the next part begins. */
  position: Position;
}

export interface ChunkRequest {
  from: Position;
  /** Read up to there; other streams than these count as read. */
  until: Position;
  wanted: ReadonlySet<FeedStream>;
}

/**
 * Reads the next part of the feed. What the streams hold elsewhere costs nothing, and the part is bounded, whatever
 * it contains.
 *
 * @throws SvcError `storage`
 */
export async function readChunk(deps: ReadDeps, request: ChunkRequest): Promise<Chunk> {
  const { until } = request;
  const readings = await Promise.all(feedStreams.map((stream) => read(deps, stream, request)));
  const position: Record<FeedStream, number> = { ...request.from };
  for (const { stream, messages, isWhole } of readings) {
    // Also where the stream is another one than before, and shorter.
    if (messages.length === 0 && isWhole) position[stream] = until[stream];
    else if (until[stream] < position[stream]) position[stream] = 0;
  }
  const items: FeedItem[] = [];
  for (const { stream, message } of inOrder(readings)) {
    position[stream] = message.sequence;
    const event = await readMessage(deps, stream, message);
    if (event !== undefined) items.push({ event, position: { ...position } });
  }
  return { items, position };
}

async function read(
  deps: ReadDeps,
  stream: FeedStream,
  request: ChunkRequest,
): Promise<Reading<FeedStream, PlacedMessage>> {
  const { from, until, wanted } = request;
  const after = until[stream] < from[stream] ? 0 : from[stream];
  if (!wanted.has(stream) || after >= until[stream]) return { stream, messages: [], isWhole: true };
  const range = { from: after + 1, count: maxMessages, maxBytes: maxBytes };
  const found = await readRange(deps.bus, streamName(stream), range);
  const messages = found.filter(({ sequence }) => sequence <= until[stream]);
  const last = found.at(-1)?.sequence;
  // The last messages before the end may be gone: then another read finds none.
  return { stream, messages, isWhole: last === undefined || last >= until[stream] };
}
