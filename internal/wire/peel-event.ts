import * as v from "valibot";
import { SvcError } from "../base/errors.ts";
import { foreign, type Plain } from "../base/msgpack.ts";
import { isMap } from "../base/plain-map.ts";
import { record } from "../base/record.ts";
import { optional } from "../base/record-kinds.ts";

/** What the stream takes as well. */
const maxEventBytes = 64 * 1024;

type Data = Readonly<Record<string, Plain>>;

const map = v.custom<Data>(isMap);
const id = v.pipe(v.string(), v.minLength(1), v.maxLength(64));
const options = {
  isOpen: true,
  limits: foreign(maxEventBytes),
  malformed: (field: string) =>
    new SvcError(
      "bad_request",
      `${field === "(root)" ? "the message" : field} is not a valid part of an event`,
    ),
};

/** The part of an event in the message of a peel. The subject holds the rest. */
const peelFields = {
  data: v.optional(map, {}),
  /** Stays the same when the event is sent again after a timeout. */
  id: optional(id),
} as const;
/** The message of an event that a master publishes. */
const serviceFields = {
  data: map,
  /** The peel that the event is about, encoded, or `masterSource`. */
  source: v.string(),
  depth: v.pipe(v.number(), v.integer(), v.minValue(0)),
} as const;

/** `decode` throws when the bytes are not an event. The input is untrusted. Other keys of the map are ignored. */
export const { encode: encodePeelEvent, decode: decodePeelEvent } = record("event", peelFields, options);
export const { encode: encodeServiceEvent, decode: decodeServiceEvent } = record(
  "event",
  serviceFields,
  options,
);
