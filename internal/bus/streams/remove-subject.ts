import { type AssetName, streamName } from "../assets/mod.ts";
import type { Bus } from "../connection/mod.ts";
import { orStorageError } from "../jetstream/mod.ts";
import { removeEach } from "./remove-each.ts";
import { readStream } from "./stream.ts";

/**
 * Removes all messages of a subject from a stream.
 *
 * @param filter a subject, wildcards allowed
 * @returns how many were removed
 * @throws SvcError `storage`
 */
export async function removeSubject(bus: Bus, stream: AssetName, filter: string): Promise<number> {
  const name = streamName(stream);
  const sequences = new Set<number>();
  await readStream(bus, name, filter, (_, sequence) => sequences.add(sequence));
  return orStorageError(`the stream ${stream}`, () => removeEach(bus, name, sequences));
}
