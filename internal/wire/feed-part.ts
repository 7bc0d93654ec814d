import * as v from "valibot";
import { SvcError } from "../base/errors.ts";
import { decode, decodeSequence, encode } from "../base/msgpack.ts";

// The answer to a request that streams: messages to the inbox of the caller, numbered from 0. Items that are ready at the
// same moment share a part. An item that is larger than a part is cut into pieces, and all but the last one say `more`: each is in a part of its own.

/** The largest part, bytes. */
export const maxPartBytes = 64 * 1024;
/** What the fields of a part take besides its items, and the head of each item. */
export const partHeadBytes = 128;
export const itemHeadBytes = 5;

/** What happened, as an operation with a feed says it. */
export interface FeedItem {
  event: string;
  data: unknown;
  /** The place behind it, where a reader that was cut off continues. */
  id?: string;
}

const seq = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const place = v.exactOptional(v.string());
const form = v.object({ event: v.string(), data: v.unknown(), id: v.exactOptional(v.string()) });
const item = v.object({
  seq,
  kind: v.literal("item"),
  /** Each encoded by itself: svc of another version reads them so. */
  items: v.array(v.custom<Uint8Array>((value) => value instanceof Uint8Array)),
  more: v.exactOptional(v.literal(true)),
});
const alive = v.object({ seq, kind: v.literal("alive"), place });
const end = v.object({ seq, kind: v.literal("end"), place, reason: v.exactOptional(v.string()) });
const part = v.variant("kind", [item, alive, end]);
export type FeedPart = v.InferOutput<typeof part>;

export const encodeItem = (one: FeedItem): Uint8Array => encode(one);
/** @throws ValiError, SvcError `bad_request` when it is malformed */
export const openItem = (bytes: Uint8Array): FeedItem => v.parse(form, decode(bytes));
/** The same of many, which are decoded at once: a job on 1,000 peels has as many. */
export function openItems(items: readonly Uint8Array[]): FeedItem[] {
  const found = decodeSequence(Buffer.concat(items));
  if (found.length !== items.length) throw new SvcError("bad_request", "malformed items");
  return found.map(({ value }) => v.parse(form, value));
}

export const encodePart = (one: FeedPart): Uint8Array => encode(one);
/** Reads a part. @returns `undefined` for another message, such as a refusal */
export function openPart(bytes: Uint8Array): FeedPart | undefined {
  const parsed = v.safeParse(part, decode(bytes));
  return parsed.success ? parsed.output : undefined;
}
