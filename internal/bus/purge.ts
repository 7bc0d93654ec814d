import type { AssetName } from "./assets.ts";
import { streamName } from "./assets.ts";
import type { Bus } from "./connect.ts";
import { managerOf } from "./jetstream/manager.ts";
import { orStorageError } from "./or-storage-error.ts";

/**
 * Removes all messages of a subject from a stream.
 *
 * @param filter a subject, wildcards allowed
 * @returns how many were removed
 * @throws SvcError `storage`
 */
export function purgeSubject(bus: Bus, stream: AssetName, filter: string): Promise<number> {
  return orStorageError(`the stream ${stream}`, async () => {
    const manager = await managerOf(bus);
    return (await manager.streams.purge(streamName(stream), { filter })).purged;
  });
}
