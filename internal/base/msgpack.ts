// The pure JavaScript entry point: the main entry point loads a native addon from a path of the build
// machine, and on a target host an attacker may own that path.
import { Packr } from "msgpackr/pack";
import { SvcError } from "./errors.ts";

const packr = new Packr({ useRecords: false, variableMapSize: true, moreTypes: false });

const maxDepth = 32;

/** The values a message or a stored value may hold: no extension types, and maps with string keys only. */
export type Plain = null | boolean | number | string | Uint8Array | Plain[] | { [key: string]: Plain };

/** Encodes plain data as MessagePack; `undefined` fields are omitted. */
export function encode(value: unknown): Uint8Array {
  return packr.pack(isWhole(value) ? value : dropUndefined(value));
}

/**
 * Decodes one MessagePack value and rejects everything that is not plain data: extension types,
 * non-string keys, deep nesting. Safe for untrusted bytes.
 *
 * @throws SvcError `bad_request`
 */
export function decode(bytes: Uint8Array): Plain {
  let value: unknown;
  try {
    value = packr.unpack(bytes);
  } catch (cause) {
    throw new SvcError("bad_request", "malformed MessagePack", { cause });
  }
  assertPlain(value, 0);
  return value;
}

/**
 * Decodes consecutive values, up to the first one that is incomplete or not plain data.
 *
 * @returns the values, each with its end offset
 */
export function decodeSequence(bytes: Uint8Array): { value: Plain; end: number }[] {
  const found: { value: Plain; end: number }[] = [];
  try {
    packr.unpackMultiple(bytes, (value: unknown, _start?: number, end?: number) => {
      assertPlain(value, 0);
      found.push({ value, end: end ?? bytes.length });
    });
  } catch {
    // Return the values read so far.
  }
  return found;
}

function assertPlain(value: unknown, depth: number): asserts value is Plain {
  if (depth > maxDepth) throw new SvcError("bad_request", "MessagePack value nested too deeply");
  if (
    value === null ||
    typeof value === "boolean" ||
    typeof value === "number" ||
    typeof value === "string"
  ) {
    return;
  }
  if (value instanceof Uint8Array) return;
  if (Array.isArray(value)) {
    for (const item of value) assertPlain(item, depth + 1);
    return;
  }
  if (typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype) {
    for (const item of Object.values(value)) assertPlain(item, depth + 1);
    return;
  }
  throw new SvcError("bad_request", "MessagePack value of an unsupported type");
}

/** Whether the value contains no `undefined` field. This is the usual case, and needs no copy. */
function isWhole(value: unknown): boolean {
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return true;
  if (Array.isArray(value)) return value.every(isWhole);
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const item of Object.values(value)) if (item === undefined || !isWhole(item)) return false;
  return true;
}

function dropUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropUndefined);
  if (value !== null && typeof value === "object" && !(value instanceof Uint8Array)) {
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, item]) =>
        item === undefined ? [] : [[key, dropUndefined(item)]],
      ),
    );
  }
  return value;
}
