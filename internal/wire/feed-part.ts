import * as v from "valibot";
import { decode, encode } from "../base/msgpack.ts";

// The answer to a request that streams: messages to the inbox of the caller, numbered from 0. Items that are ready at the
// same moment share a part. An item that is larger than a part is cut into pieces, and all but the last one say `more`.

/** The largest part, bytes. */
export const maxPartBytes = 64 * 1024;
/** What the fields of a part take besides its items or its piece. */
export const partHeadBytes = 128;

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
  items: v.exactOptional(v.array(form)),
  piece: v.exactOptional(v.custom<Uint8Array>((value) => value instanceof Uint8Array)),
  more: v.exactOptional(v.literal(true)),
});
const alive = v.object({ seq, kind: v.literal("alive"), place });
const end = v.object({ seq, kind: v.literal("end"), place, reason: v.exactOptional(v.string()) });
const part = v.variant("kind", [item, alive, end]);
export type FeedPart = v.InferOutput<typeof part>;

export const encodeItem = (one: FeedItem): Uint8Array => encode(one);
/** @throws ValiError, SvcError `bad_request` when it is malformed */
export const openItem = (bytes: Uint8Array): FeedItem => v.parse(form, decode(bytes));

export const encodePart = (one: FeedPart): Uint8Array => encode(one);
/** The same part, of items that are encoded already: fewer than 65,536. */
export function encodeItems(seq: number, encoded: readonly Uint8Array[]): Uint8Array {
  const empty: FeedPart = { seq, kind: "item", items: [] };
  // The empty list is the last byte, and gives way to a list with a length of two bytes.
  const head = encode(empty).subarray(0, -1);
  return Buffer.concat([head, Buffer.of(0xdc, encoded.length >> 8, encoded.length & 0xff), ...encoded]);
}
/** Reads a part. @returns `undefined` for another message, such as a refusal */
export function openPart(bytes: Uint8Array): FeedPart | undefined {
  const parsed = v.safeParse(part, decode(bytes));
  return parsed.success ? parsed.output : undefined;
}
