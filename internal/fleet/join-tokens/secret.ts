import type { RecordMac } from "../../identity/mod.ts";

/**
 * The secret of a token, 32 bytes. It follows from the id and a key that only masters have, so it is stored nowhere:
 * a reader of the bus finds its SHA-256.
 */
export function secretOf(mac: RecordMac, id: string): Uint8Array {
  return Uint8Array.from(mac("join-token-secret", id));
}
