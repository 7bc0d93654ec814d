import { rfc3339 } from "../../base/clock.ts";
import type { Bus } from "../connection/mod.ts";
import {
  createConsumer,
  dropConsumer,
  durableConsumers,
  isNotFound,
  managerOf,
  nextSequence,
  orStorageError,
  streamState,
} from "../jetstream/mod.ts";

/** Parts of the limit of a stream: from where on messages go, down to where, and from where on any message goes. */
const parts = { much: 0.75, enough: 0.5, full: 0.9 } as const;
/** The messages that go are counted by their mean size, which is wrong in a stream of large and small ones. */
const rounds = 8;

/** What was discarded. */
export interface Discarded {
  messages: number;
  /** Whether some of them were still needed: all that was not was not enough. */
  needed: boolean;
}

/**
 * Removes the oldest messages of a stream that is nearly full, so that it never refuses what is new. First go
 * those that nobody needs; when it is full in spite of that, needed ones as well.
 *
 * @param neededSince the time from which on messages are needed, milliseconds since the Unix epoch; what a
 *   durable consumer is not over with is needed as well
 * @throws SvcError `storage`
 */
export async function discardOldest(bus: Bus, stream: string, neededSince: number): Promise<Discarded> {
  return orStorageError(`the stream ${stream}`, async () => {
    const { bytes, maxBytes } = await streamState(bus, stream);
    if (maxBytes <= 0 || bytes <= maxBytes * parts.much) return { messages: 0, needed: false };
    const first = await firstNeeded(bus, stream, neededSince);
    const messages = await removeBefore(bus, stream, first, maxBytes * parts.enough);
    const { bytes: left } = await streamState(bus, stream);
    if (left <= maxBytes * parts.full) return { messages, needed: false };
    const more = await removeBefore(bus, stream, Number.POSITIVE_INFINITY, maxBytes * parts.much);
    return { messages: messages + more, needed: more > 0 };
  });
}

/** Removes messages before a sequence until the stream is small enough. @returns how many went */
async function removeBefore(bus: Bus, stream: string, limit: number, enoughBytes: number): Promise<number> {
  const manager = await managerOf(bus);
  let messages = 0;
  for (let round = 0; round < rounds; round++) {
    const { bytes, firstSequence, lastSequence } = await streamState(bus, stream);
    if (bytes <= enoughBytes) break;
    const count = lastSequence - firstSequence + 1;
    const seq = Math.min(limit, firstSequence + Math.ceil(count * (1 - enoughBytes / bytes)));
    if (seq <= firstSequence) break;
    const { purged } = await manager.streams.purge(stream, { seq });
    messages += purged;
    if (seq === limit) break;
  }
  return messages;
}

/** The sequence of the first message that is needed. */
async function firstNeeded(bus: Bus, stream: string, since: number): Promise<number> {
  const consumers = await durableConsumers(bus, stream);
  const open = await Promise.all(
    consumers
      .filter(({ idle }) => !idle)
      // What lies between may be of others: the messages of a consumer can be far apart.
      .map(({ filter, over }) => nextSequence(bus, stream, filter, over + 1)),
  );
  const needed = open.filter((sequence) => sequence !== undefined);
  return Math.min(await sequenceAt(bus, stream, since), ...needed);
}

/** The sequence of the first message that was stored at this time or later: a reader would begin with it. */
async function sequenceAt(bus: Bus, stream: string, time: number): Promise<number> {
  try {
    const reader = await createConsumer(bus, stream, {
      ack_policy: "none",
      deliver_policy: "by_start_time",
      opt_start_time: rfc3339(time),
      max_waiting: 1,
      inactive_threshold: 1_000_000_000,
      mem_storage: true,
      num_replicas: 1,
    });
    if (reader.name !== undefined) dropConsumer(bus, stream, reader.name);
    // It has delivered everything before what it begins with.
    return (reader.delivered?.stream_seq ?? 0) + 1;
  } catch (thrown) {
    if (isNotFound(thrown)) return 0;
    throw thrown;
  }
}
