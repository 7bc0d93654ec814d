import { mapBounded } from "../../base/map-bounded.ts";
import { type AssetName, streamName } from "../assets/mod.ts";
import type { Bus } from "../connection/mod.ts";
import { type GotMessage, orStorageError, streamState } from "../jetstream/mod.ts";
import { keySubject } from "../subjects/subjects.ts";
import type { Entry } from "./entry.ts";
import { messageAt } from "./message-at.ts";

const atOnce = 64;

/**
 * Reads a bucket message by message. That takes a request for each one, and also works where a damaged block
 * stops the server from sending the rest.
 *
 * @returns the latest readable value of each key, without those that were removed
 * @throws SvcError `storage` when the stream cannot be read
 */
export function readSingly(bus: Bus, bucket: AssetName, signal: AbortSignal): Promise<Entry[]> {
  const stream = streamName(bucket);
  return orStorageError(`the bucket ${bucket}`, async () => {
    const { firstSequence, lastSequence } = await streamState(bus, stream);
    const prefix = keySubject(bucket, "");
    const latest = new Map<string, GotMessage>();
    await mapBounded(sequences(firstSequence, lastSequence), { atOnce, signal }, async (seq) => {
      const message = await messageAt(bus, stream, seq);
      if (message === undefined || !message.subject.startsWith(prefix)) return;
      const key = message.subject.slice(prefix.length);
      if (message.sequence > (latest.get(key)?.sequence ?? 0)) latest.set(key, message);
    });
    return [...latest]
      .filter(([, { headers }]) => !headers.includes("KV-Operation:"))
      .map(([key, { data, sequence, storedAt }]) => ({ key, value: data, revision: sequence, storedAt }));
  });
}

function* sequences(first: number, last: number): Generator<number> {
  for (let sequence = Math.max(1, first); sequence <= last; sequence++) yield sequence;
}
