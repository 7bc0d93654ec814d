import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { instant } from "../../base/instant.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { isEqualMac, type RecordMac } from "../../identity/mod.ts";

// Each use of a token has a key of its own, from 0 to one less than the uses of the token: so there are never more,
// and hosts that join at the same time do not wait for each other. Who takes a use writes its key by
// compare-and-swap, and a use that was given back keeps its key, so that a key that is gone was removed by others.

/** One use of a token, as it was written last. */
export interface Use {
  /** Counts the writes of this key: an earlier one that is put back does not count. */
  n: number;
  /** Whether it was given back. */
  free: boolean;
  /** The enrollment that it is for: `enr-…`. */
  enrollment: string;
  /** Encoded. */
  peelId: string;
  /** Of the host, `U…`. */
  publicKey: string;
  /** When it was taken, milliseconds since the Unix epoch. */
  at: number;
}

/** @param slot 0 for the first one */
export const useKey = (token: string, slot: number): string => `${token}.${slot}`;

/** The parts of a key of the bucket; `slot` is absent for the token itself. */
export function parseKey(key: string): { token: string; slot?: number } {
  const dot = key.indexOf(".");
  if (dot < 0) return { token: key };
  const text = key.slice(dot + 1);
  return { token: key.slice(0, dot), slot: /^(?:0|[1-9]\d{0,5})$/.test(text) ? Number(text) : -1 };
}

const bytes = v.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length === 32);
const text = v.pipe(v.string(), v.maxLength(256));

const stored = v.strictObject({
  v: v.literal(1),
  n: v.pipe(v.number(), v.integer(), v.minValue(1)),
  free: v.boolean(),
  enrollment: text,
  peel_id: text,
  public_key: text,
  at: instant,
  voucher: bytes,
});

/** The stored form of a use, with the MAC of a master. */
export function encodeUse(mac: RecordMac, key: string, use: Use): Uint8Array {
  const { n, free, enrollment, peelId, publicKey, at } = use;
  const fields = { v: 1, n, free, enrollment, peel_id: peelId, public_key: publicKey, at: rfc3339(at) };
  return encode({ ...fields, voucher: mac("join-token-use", [key, ...Object.values(fields)]) });
}

/**
 * Reads a stored use.
 *
 * @returns `undefined` when no master vouches for it under this key
 * @throws Error when it is malformed
 */
export function decodeUse(mac: RecordMac, key: string, value: Uint8Array): Use | undefined {
  const found = v.parse(stored, decode(value));
  const { v: version, n, free, enrollment, peel_id, public_key, at, voucher } = found;
  const content = [key, version, n, free, enrollment, peel_id, public_key, rfc3339(at)];
  if (!isEqualMac(mac("join-token-use", content), voucher)) return undefined;
  return { n, free, enrollment, peelId: peel_id, publicKey: public_key, at };
}
