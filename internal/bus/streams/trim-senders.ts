import { type AssetName, streamName } from "../assets/mod.ts";
import type { Bus } from "../connection/mod.ts";
import { orStorageError, streamState } from "../jetstream/mod.ts";
import { fairShare } from "./fair-share.ts";
import { removeEach } from "./remove-each.ts";
import { readStream } from "./stream.ts";

/**
 * Parts of the limit of a stream: from where on senders are compared, down to where they are cut together, and how
 * much one of them keeps at least and at most. With the smallest share, 256 of them fill the stream and are cut at a time.
 */
const parts = { much: 1 / 2, enough: 3 / 8, min: 1 / 256, max: 1 / 16 } as const;
/** What a stream stores of a message besides its data and its subject, about. */
const overheadBytes = 32;
/** Removals take time: what is left is removed the next time. */
const maxRemoved = 20_000;

/** How many of its messages a sender lost. */
type Trimmed = ReadonlyMap<string, number>;

/**
 * Removes the oldest messages of those senders that hold more than their part of a stream that has become large, so
 * that one of them does not push out the messages of all others. Only the sizes of messages are read, and messages are
 * removed one by one, as `removeEach` does it.
 *
 * @param options.filter the subjects of all senders
 * @param options.senderOf who sent a message on a subject; `undefined` for one that is not cut
 * @param options.filterOf the subjects of one sender
 * @returns `undefined` when the stream is not large
 * @throws SvcError `storage`
 */
export async function trimSenders(
  bus: Bus,
  stream: AssetName,
  options: {
    filter: string;
    senderOf(subject: string): string | undefined;
    filterOf(sender: string): string;
  },
): Promise<Trimmed | undefined> {
  const name = streamName(stream);
  const { bytes, maxBytes } = await orStorageError(`the stream ${stream}`, () => streamState(bus, name));
  if (maxBytes <= 0 || bytes <= maxBytes * parts.much) return undefined;

  const trimmed = new Map<string, number>();
  const held = new Map<string, number>();
  let others = 0;
  await readStream(
    bus,
    name,
    options.filter,
    ({ subject }, _, size) => {
      const sender = options.senderOf(subject);
      const stored = size + subject.length + overheadBytes;
      if (sender === undefined) others += stored;
      // A part of a subject would keep all of it in memory.
      else if (held.has(sender)) held.set(sender, (held.get(sender) ?? 0) + stored);
      else held.set(Buffer.from(sender).toString(), stored);
    },
    { onlySizes: true },
  );
  // What is not cut takes at most half of the room from the others.
  const target = maxBytes * parts.enough - Math.min(others, (maxBytes * parts.enough) / 2);
  const bounds = { min: maxBytes * parts.min, max: maxBytes * parts.max };
  const share = fairShare(held.values(), target, bounds);
  const greedy = [...held].filter(([, size]) => size > share).sort(([, one], [, other]) => other - one);
  let left = maxRemoved;
  for (const [sender, size] of greedy) {
    if (left === 0) break;
    const found = await oldestOf(bus, name, options.filterOf(sender), { bytes: size - share, max: left });
    left -= found.length;
    trimmed.set(sender, await orStorageError(`the stream ${name}`, () => removeEach(bus, name, found)));
  }
  return trimmed;
}

/** The sequences of the oldest messages of a subject that together have a number of bytes. */
async function oldestOf(
  bus: Bus,
  name: string,
  filter: string,
  { bytes, max }: { bytes: number; max: number },
): Promise<number[]> {
  const found = new Set<number>();
  let left = bytes;
  const onMessage = ({ subject }: { subject: string }, sequence: number, size: number) => {
    if (left <= 0 || found.size === max || found.has(sequence)) return;
    found.add(sequence);
    left -= size + subject.length + overheadBytes;
  };
  await readStream(bus, name, filter, onMessage, { onlySizes: true });
  return [...found];
}
