import { SvcError } from "../base/errors.ts";
import type { Bus } from "./connect.ts";
import { managerOf } from "./jetstream/manager.ts";
import { isNotFound } from "./jetstream/request.ts";
import { streamState } from "./jetstream/stream-state.ts";
import { orStorageError } from "./or-storage-error.ts";

/** The progress of a durable consumer in its stream. */
export interface ConsumerPosition {
  /** Sequence of the last delivered message; 0 before the first. */
  delivered: number;
  /** Messages that were not delivered yet. */
  waiting: number;
  /** Messages that were delivered and not acknowledged. */
  inHand: number;
}

/**
 * Requests the progress of a consumer.
 *
 * @returns `undefined` when there is no such consumer yet
 * @throws SvcError `storage`
 */
export async function consumerPosition(
  bus: Bus,
  stream: string,
  durable: string,
): Promise<ConsumerPosition | undefined> {
  return orStorageError(`the consumer ${durable}`, async () => {
    try {
      const info = await (await managerOf(bus)).consumers.info(stream, durable);
      const { delivered, num_pending: waiting, num_ack_pending: inHand } = info;
      return { delivered: delivered.stream_seq, waiting, inHand };
    } catch (thrown) {
      if (isNotFound(thrown)) return undefined;
      throw thrown;
    }
  });
}

/**
 * The sequence of the oldest message in a stream, or of the next one when the stream is empty.
 *
 * @throws SvcError `storage`
 */
export async function firstSequence(bus: Bus, stream: string): Promise<number> {
  const state = await orStorageError(`the stream ${stream}`, () => streamState(bus, stream));
  // A stream that never held a message reports 0.
  return Math.max(1, state.firstSequence);
}

/**
 * Removes the messages that a consumer has finished from the front of a large stream: a stream that refuses
 * messages when it is full would otherwise be full of finished ones.
 *
 * @param overBytes size from which messages are removed
 * @returns how many messages were removed
 * @throws SvcError `storage`
 */
export async function removeHandled(
  bus: Bus,
  stream: string,
  durable: string,
  overBytes: number,
): Promise<number> {
  try {
    if ((await streamState(bus, stream)).bytes <= overBytes) return 0;
    const manager = await managerOf(bus);
    const { ack_floor: over } = await manager.consumers.info(stream, durable);
    if (over.stream_seq === 0) return 0;
    return (await manager.streams.purge(stream, { seq: over.stream_seq + 1 })).purged;
  } catch (cause) {
    if (isNotFound(cause)) return 0;
    throw new SvcError(
      "storage",
      `finished messages could not be removed from the stream ${stream}: is the bus up?`,
      { cause },
    );
  }
}
