import * as v from "valibot";
import type { Plain } from "./msgpack.ts";
import { isMap } from "./plain-map.ts";

// Building blocks of schemas. Titles and descriptions appear in the description of the REST interface.

/** A value with a description of one sentence, without a full stop. */
export function described<const Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return v.pipe(schema, v.description(description));
}

/**
 * A schema with a name of its own in the description of the interface.
 *
 * @param rules keywords of JSON Schema for what `schema` does not check itself
 */
export function titled<const Schema extends v.GenericSchema>(
  title: string,
  schema: Schema,
  rules: Readonly<Record<string, unknown>> = {},
) {
  return v.pipe(schema, v.title(title), v.metadata(rules));
}

export const integer = v.pipe(v.number(), v.integer());
/** RFC 3339. */
export const timestamp = v.pipe(v.string(), v.isoTimestamp());

const digestBytes = 32;
const digestText = "^[0-9a-f]{64}$";
/** What is known of it before it becomes bytes; a description after that would be lost. */
const eitherDigest = v.pipe(
  v.custom<Uint8Array | string>(
    (value) =>
      (value instanceof Uint8Array && value.length === digestBytes) ||
      (typeof value === "string" && new RegExp(digestText).test(value)),
    `must be ${digestBytes} bytes, or ${2 * digestBytes} hexadecimal digits`,
  ),
  v.metadata({ type: "string", pattern: digestText }),
);
const toBytes = (value: Uint8Array | string) =>
  typeof value === "string" ? Buffer.from(value, "hex") : value;
/** A SHA-256. Over the bus it is bytes, and as JSON text. */
export const digest = v.pipe(eitherDigest, v.transform(toBytes));
/** The same, and what it is of. */
export const describedDigest = (description: string) =>
  v.pipe(eitherDigest, v.description(description), v.transform(toBytes));
/** A SHA-256 in an answer: bytes over the bus, and 64 hexadecimal digits as JSON text. */
export const shownDigest = (description: string) => v.pipe(eitherDigest, v.description(description));
/** Any value that a message can hold. */
export const plain = v.custom<Plain>(() => true);
/** A map of any values. */
export const plainMap = v.pipe(
  v.custom<Record<string, Plain>>(isMap, "must be an object"),
  v.metadata({ type: "object", additionalProperties: {} }),
);
