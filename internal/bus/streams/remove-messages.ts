import { type AssetName, assets, streamName } from "../assets/mod.ts";
import type { Bus } from "../connection/mod.ts";
import { orStorageError, requestJetStream } from "../jetstream/mod.ts";
import { removeEach } from "./remove-each.ts";

/**
 * Removes messages of one subject. A bucket lets go of a whole key only.
 *
 * @param sequences those of the messages
 * @throws SvcError `storage`
 */
export async function removeMessages(
  bus: Bus,
  asset: AssetName,
  subject: string,
  sequences: readonly number[],
): Promise<void> {
  const stream = streamName(asset);
  await orStorageError(`the stream ${stream}`, async () => {
    if (assets[asset].kind === "stream") return void (await removeEach(bus, stream, sequences));
    await requestJetStream(bus, `$JS.API.STREAM.PURGE.${stream}`, JSON.stringify({ filter: subject }));
  });
}
