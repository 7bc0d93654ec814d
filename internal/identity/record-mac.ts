import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { encode } from "../base/msgpack.ts";
import type { KeyPair } from "./nkey.ts";

// Masters act on records that they find on the bus. The bus only carries commands and cannot make them, so
// what a command follows from must be a master's own as well: the record carries a keyed digest of it.

/**
 * A digest that only masters can compute.
 *
 * @param kind keeps records of different kinds apart
 * @param content plain data; the order of the keys of maps counts
 */
export type Vouch = (kind: string, content: unknown) => Uint8Array;

/** @param signer the command key, which all masters have */
export function createVouch(signer: KeyPair): Vouch {
  const key = new Uint8Array(hkdfSync("sha256", signer.seed, "", "svc/record-voucher/v1", 32));
  return (kind, content) => createHmac("sha256", key).update(`${kind}\0`).update(encode(content)).digest();
}

/** Whether a record carries the digest that a master would give it; in constant time. */
export function isVouched(expected: Uint8Array, found: Uint8Array | undefined): boolean {
  return found?.length === expected.length && timingSafeEqual(expected, found);
}
