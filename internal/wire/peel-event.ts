import * as v from "valibot";
import { defined } from "../base/defined.ts";
import { SvcError } from "../base/errors.ts";
import { decodeForeign, encode, type Plain } from "../base/msgpack.ts";
import { isMap } from "../base/plain-map.ts";

/** What the stream takes as well. */
const maxEventBytes = 64 * 1024;

type Data = Readonly<Record<string, Plain>>;

const map = v.custom<Data>(isMap);
const id = v.pipe(v.string(), v.minLength(1), v.maxLength(64));
const peelEvent = v.object({ data: v.optional(map, {}), id: v.optional(id) });
const serviceEvent = v.object({
  data: map,
  source: v.string(),
  depth: v.pipe(v.number(), v.integer(), v.minValue(0)),
});

/** The part of an event in the message of a peel. The subject holds the rest. */
export interface PeelEvent {
  data: Data;
  /** Stays the same when the event is sent again after a timeout. */
  id?: string;
}

export function encodePeelEvent(event: PeelEvent): Uint8Array {
  return encode(event);
}

/** @throws when the bytes are not an event. The input is untrusted. Other keys of the map are ignored. */
export function decodePeelEvent(bytes: Uint8Array): PeelEvent {
  const { data: said, id: given } = read(peelEvent, bytes);
  return { data: said, ...defined({ id: given }) };
}

/** The message of an event that a master publishes. */
export interface ServiceEvent {
  data: Data;
  /** The peel that the event is about, encoded, or `masterSource`. */
  source: string;
  depth: number;
}

export function encodeServiceEvent(event: ServiceEvent): Uint8Array {
  return encode(event);
}

/** @throws when the bytes are not an event */
export function decodeServiceEvent(bytes: Uint8Array): ServiceEvent {
  return read(serviceEvent, bytes);
}

function read<Schema extends v.GenericSchema>(schema: Schema, bytes: Uint8Array): v.InferOutput<Schema> {
  const value = decodeForeign(bytes, maxEventBytes);
  // A list would pass as a map without fields.
  const parsed = v.safeParse(schema, v.is(map, value) ? value : undefined);
  if (parsed.success) return parsed.output;
  throw new SvcError(
    "bad_request",
    `${v.getDotPath(parsed.issues[0]) ?? "the message"} is not a valid part of an event`,
  );
}
