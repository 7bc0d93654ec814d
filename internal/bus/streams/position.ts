import type { Bus } from "../connection/mod.ts";
import { isNotFound, managerOf, orStorageError, streamState, withoutLeader } from "../jetstream/mod.ts";

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
 * The sequences of the oldest and the newest message of a stream. When it is empty, the oldest is the one after the
 * newest, and the newest is the last that it ever held.
 */
export interface StreamEnds {
  first: number;
  last: number;
}

/** Asks for the ends of a stream. @throws SvcError `storage` */
export async function streamEnds(bus: Bus, stream: string): Promise<StreamEnds> {
  const state = await orStorageError(`the stream ${stream}`, async () => {
    const found = await streamState(bus, stream);
    // A server that is alone answers with its own copy.
    if (!found.hasLeader) throw withoutLeader();
    return found;
  });
  return { first: Math.max(1, state.firstSequence), last: state.lastSequence };
}
