import { mapBounded } from "../base/map-bounded.ts";
import { type AssetName, streamName } from "./assets.ts";
import type { Bus } from "./connect.ts";
import { managerOf } from "./jetstream/manager.ts";
import { isNotFound } from "./jetstream/request.ts";
import { orStorageError } from "./or-storage-error.ts";
import { readStream } from "./stream.ts";

/** Few: the stream takes what others send meanwhile. */
const removedAtOnce = 4;

/**
 * Removes all messages of a subject from a stream, one by one. A purge of a subject makes nats-server 2.9 move
 * each consumer of that subject to the end of the stream, and so lose what others sent and nobody has read yet.
 *
 * @param filter a subject, wildcards allowed
 * @returns how many were removed
 * @throws SvcError `storage`
 */
export async function removeSubject(bus: Bus, stream: AssetName, filter: string): Promise<number> {
  const name = streamName(stream);
  const sequences = new Set<number>();
  await readStream(bus, name, filter, (_, sequence) => sequences.add(sequence));
  return orStorageError(`the stream ${stream}`, async () => {
    const { streams } = await managerOf(bus);
    const removed = await mapBounded(sequences, { atOnce: removedAtOnce }, async (sequence) => {
      try {
        return await streams.deleteMessage(name, sequence, false);
      } catch (thrown) {
        if (isNotFound(thrown)) return false;
        throw thrown;
      }
    });
    return removed.filter((isRemoved) => isRemoved).length;
  });
}
