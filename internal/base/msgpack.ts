// The pure JavaScript entry point: the main entry point loads a native addon from a path of the build
// machine, and on a target host an attacker may own that path.
import { Packr } from "msgpackr/pack";
import { SvcError } from "./errors.ts";

const packr = new Packr({ useRecords: false, variableMapSize: true, moreTypes: false });

/** Bounds on a MessagePack value; checked on its bytes, before anything is decoded. */
export interface DecodeLimits {
  /** Size of the message in bytes. */
  bytes?: number;
  /** Number of values in it, keys of maps included. */
  elements?: number;
}

const maxDepth = 64;
/** A few bytes can announce a value that takes a thousand times as much memory. */
const maxForeignElements = 100_000;
/** What the bus takes from a peel at once. */
const maxForeignBytes = 1024 * 1024;

/** The message exceeds a limit; it was not decoded. */
export class MessageTooLarge extends SvcError {
  constructor(message: string) {
    super("bad_request", message);
  }
}

/** The values a message or a stored value may hold: no extension types, and maps with string keys only. */
export type Plain = null | boolean | number | string | Uint8Array | Plain[] | { [key: string]: Plain };

/** Encodes plain data as MessagePack; `undefined` fields are omitted. */
export function encode(value: unknown): Uint8Array {
  return packr.pack(isWhole(value) ? value : dropUndefined(value));
}

/** Encodes plain data with the keys of each map in the order of their bytes: equal data has equal bytes. */
export function encodeSorted(value: Plain): Uint8Array {
  return packr.pack(sortedMaps(value));
}

/** In an object, keys that look like numbers would come first. */
function sortedMaps(value: Plain): unknown {
  if (Array.isArray(value)) return value.map(sortedMaps);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  const entries = Object.entries(value).map(([key, item]) => ({ bytes: Buffer.from(key), key, item }));
  entries.sort((one, other) => one.bytes.compare(other.bytes));
  return new Map(entries.map(({ key, item }) => [key, sortedMaps(item)]));
}

/**
 * Encodes maps that have fields in common: these are encoded once. The bytes are those of one map with the common
 * fields first.
 *
 * @returns what encodes such a map; it throws a RangeError for one of more than 15 fields
 */
export function mapEncoder(
  common: Readonly<Record<string, unknown>>,
): (own: Readonly<Record<string, unknown>>) => Uint8Array {
  const shared = encode(common);
  return (own) => withFields(shared, own);
}

/**
 * Adds fields to an encoded map, behind those that it has. Existing fields are not checked.
 *
 * @throws RangeError for a map of more than 15 fields
 */
export function withFields(map: Uint8Array, more: Readonly<Record<string, unknown>>): Uint8Array {
  const rest = encode(more);
  const fields = fieldsOf(map) + fieldsOf(rest);
  if (fields > maxFields) throw new RangeError("a map with common fields has too many fields");
  return Buffer.concat([Buffer.of(fixedMap | fields), map.subarray(1), rest.subarray(1)]);
}

/** The header of a map of up to 15 fields is one byte, with their number. */
const fixedMap = 0x80;
const maxFields = 15;

/** The number of fields of an encoded map. */
function fieldsOf([header = 0]: Uint8Array): number {
  return header >= fixedMap && header <= fixedMap + maxFields ? header - fixedMap : maxFields + 1;
}

/**
 * Decodes one MessagePack value and rejects everything that is not plain data: extension types,
 * non-string keys, deep nesting. Safe for untrusted bytes with `decodeForeign`, which bounds what one
 * value takes in memory.
 *
 * @throws SvcError `bad_request`
 */
export function decode(bytes: Uint8Array, limits: DecodeLimits = {}): Plain {
  scan(bytes, limits);
  let value: unknown;
  try {
    value = packr.unpack(bytes);
  } catch (cause) {
    throw new SvcError("bad_request", "malformed MessagePack", { cause });
  }
  assertPlain(value, 0);
  return value;
}

/** The bounds on what a peel sent. @param bytes how long the message may be; 1 MiB unless given */
export const foreign = (bytes = maxForeignBytes): DecodeLimits => ({ bytes, elements: maxForeignElements });

/**
 * Decodes what a peel sent, as `decode` does: at most 100,000 values.
 *
 * @param maxBytes how long the message may be; 1 MiB unless given
 * @throws MessageTooLarge before anything is decoded; SvcError `bad_request`
 */
export function decodeForeign(bytes: Uint8Array, maxBytes?: number): Plain {
  return decode(bytes, foreign(maxBytes));
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

/**
 * Walks over the headers of one value and allocates nothing for its content: a list of a million empty maps
 * is refused at the header of the list.
 *
 * @throws MessageTooLarge, SvcError `bad_request`
 */
function scan(bytes: Uint8Array, limits: DecodeLimits): void {
  const { bytes: maxBytes = Number.POSITIVE_INFINITY, elements = Number.POSITIVE_INFINITY } = limits;
  if (bytes.length > maxBytes) {
    throw new MessageTooLarge(`a message must have at most ${maxBytes} bytes, not ${bytes.length}`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** Values still to come, by depth. */
  const open: number[] = [1];
  let at = 0;
  let announced = 1;
  const unsigned = (length: number): number => {
    if (at + length > bytes.length) throw new SvcError("bad_request", "malformed MessagePack");
    const value = length === 1 ? view.getUint8(at) : length === 2 ? view.getUint16(at) : view.getUint32(at);
    at += length;
    return value;
  };
  for (;;) {
    const left = open.at(-1);
    if (left === undefined) return;
    if (left === 0) {
      open.pop();
      continue;
    }
    open[open.length - 1] = left - 1;
    const head = unsigned(1);
    const [skip, children] = extentOf(head, unsigned);
    at += skip;
    if (at > bytes.length) throw new SvcError("bad_request", "malformed MessagePack");
    if (children === 0) continue;
    announced += children;
    if (announced > elements) throw new MessageTooLarge(`a message must have at most ${elements} values`);
    // Each value takes a byte at least: what cannot be there is not waited for.
    if (children > bytes.length - at) throw new SvcError("bad_request", "malformed MessagePack");
    if (open.length > maxDepth) throw new SvcError("bad_request", "MessagePack value nested too deeply");
    open.push(children);
  }
}

/**
 * What follows the first byte of a value: bytes of content, or values inside.
 *
 * @param unsigned reads a length of a given number of bytes
 * @throws SvcError `bad_request`
 */
function extentOf(head: number, unsigned: (length: 1 | 2 | 4) => number): [skip: number, children: number] {
  if (head <= 0x7f || head >= 0xe0) return [0, 0];
  if (head <= 0x8f) return [0, 2 * (head & 0x0f)];
  if (head <= 0x9f) return [0, head & 0x0f];
  if (head <= 0xbf) return [head & 0x1f, 0];
  switch (head) {
    case 0xc0:
    case 0xc2:
    case 0xc3:
      return [0, 0];
    case 0xc4:
    case 0xd9:
      return [unsigned(1), 0];
    case 0xc5:
    case 0xda:
      return [unsigned(2), 0];
    case 0xc6:
    case 0xdb:
      return [unsigned(4), 0];
    case 0xcc:
    case 0xd0:
      return [1, 0];
    case 0xcd:
    case 0xd1:
      return [2, 0];
    case 0xca:
    case 0xce:
    case 0xd2:
      return [4, 0];
    case 0xcb:
    case 0xcf:
    case 0xd3:
      return [8, 0];
    case 0xdc:
      return [0, unsigned(2)];
    case 0xdd:
      return [0, unsigned(4)];
    case 0xde:
      return [0, 2 * unsigned(2)];
    case 0xdf:
      return [0, 2 * unsigned(4)];
    default:
      throw new SvcError("bad_request", "MessagePack value of an unsupported type");
  }
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
