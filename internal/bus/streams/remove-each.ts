import { mapBounded } from "../../base/map-bounded.ts";
import type { Bus } from "../connection/mod.ts";
import { isNotFound, managerOf } from "../jetstream/mod.ts";

/** Few: the stream takes what others send meanwhile. */
const atOnce = 4;

/**
 * Removes messages from a stream, one by one. A purge of a subject makes nats-server 2.9 move each consumer of that
 * subject to the end of the stream, and so lose what others sent and nobody has read yet.
 *
 * @param stream its name on the bus
 * @returns how many were still there
 */
export async function removeEach(bus: Bus, stream: string, sequences: Iterable<number>): Promise<number> {
  const { streams } = await managerOf(bus);
  const removed = await mapBounded(sequences, { atOnce }, async (sequence) => {
    try {
      return await streams.deleteMessage(stream, sequence, false);
    } catch (thrown) {
      if (isNotFound(thrown)) return false;
      throw thrown;
    }
  });
  return removed.filter((isRemoved) => isRemoved).length;
}
