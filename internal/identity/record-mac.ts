import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { encode } from "../base/msgpack.ts";
import type { KeyPair } from "./nkey.ts";

// Masters act on records that they find on the bus. The bus carries commands but cannot create them. So a
// record that leads to a command must come from a master too: it carries a MAC.

/**
 * A MAC (message authentication code) that only masters can compute.
 *
 * @param kind separates records of different kinds
 * @param content plain data; the order of map keys matters
 */
export interface RecordMac {
  (kind: string, content: unknown): Uint8Array;
  /** MACs under other keys that count as well for the record with this id; none unless a key is replaced. */
  readonly others?: (id: string) => readonly RecordMac[];
}

/** @param signer a key that all masters share */
export function createRecordMac(signer: KeyPair): RecordMac {
  return recordMacOf(recordMacKey(signer));
}

/** The secret that MACs are made with; it does not tell the seed. */
export function recordMacKey(signer: KeyPair): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", signer.seed, "", "svc/record-voucher/v1", 32));
}

/** @param key from `recordMacKey` */
export function recordMacOf(key: Uint8Array): RecordMac {
  return (kind, content) => createHmac("sha256", key).update(`${kind}\0`).update(encode(content)).digest();
}

/**
 * Whether a master made the voucher of the record with this id, with any of the keys that count for it.
 *
 * @param id absent where only the key in use counts
 * @param expected the voucher that a master makes with the given key
 */
export function isVouched(
  mac: RecordMac,
  id: string | undefined,
  voucher: Uint8Array | undefined,
  expected: (mac: RecordMac) => Uint8Array,
): boolean {
  const others = id === undefined ? [] : (mac.others?.(id) ?? []);
  return [mac, ...others].some((one) => isEqualMac(expected(one), voucher));
}

/** Whether a record carries the expected MAC. Constant time. */
export function isEqualMac(expected: Uint8Array, found: Uint8Array | undefined): boolean {
  return found?.length === expected.length && timingSafeEqual(expected, found);
}
