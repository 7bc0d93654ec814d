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
export type RecordMac = (kind: string, content: unknown) => Uint8Array;

/** @param signer the command key, which all masters share */
export function createRecordMac(signer: KeyPair): RecordMac {
  const key = new Uint8Array(hkdfSync("sha256", signer.seed, "", "svc/record-voucher/v1", 32));
  return (kind, content) => createHmac("sha256", key).update(`${kind}\0`).update(encode(content)).digest();
}

/** Whether a record carries the expected MAC. Constant time. */
export function isEqualMac(expected: Uint8Array, found: Uint8Array | undefined): boolean {
  return found?.length === expected.length && timingSafeEqual(expected, found);
}
