import { encode, type Plain } from "../../../base/msgpack.ts";
import { sha256 } from "../../../base/sha256.ts";
import { type KeyPair, verifySignature } from "../../../identity/mod.ts";
import { decodeMap, type Enrollment, encodeRecord } from "../record/mod.ts";
import type { Vouchers } from "./vouchers.ts";

/** An operator, and the key that signs. */
export interface DirectSigner {
  name: string;
  key: Pick<KeyPair, "publicKey" | "sign">;
}

const domain = "svc/direct/v1\0";
const unsigned: ReadonlySet<string> = new Set(["identity_voucher", "decision_voucher", "direct_signature"]);

/**
 * For `svc` with an operator file: its direct decisions carry the signature of the operator, over the whole record as
 * the decision leaves it.
 */
export function signingVouchers({ name, key }: DirectSigner): Vouchers {
  return {
    mark(record) {
      const direct = { ...record, direct: true };
      const signature = key.sign(signedBytes(direct, name));
      return { ...direct, directSignature: { operator: name, key: key.publicKey, signature } };
    },
    fits: () => true,
  };
}

/** Who signed a direct decision, exactly as it is; `undefined` when nobody did. Whether they may is not judged. */
export function signerOfDirect(record: Enrollment): { operator: string; key: string } | undefined {
  const { directSignature, decidedBy } = record;
  if (directSignature === undefined || directSignature.operator !== decidedBy) return undefined;
  const { operator, key, signature } = directSignature;
  return verifySignature("user", key, signedBytes(record, operator), signature)
    ? { operator, key }
    : undefined;
}

/** SHA-256 of what an operator signed, or would have signed. */
export function digestOfDirect(record: Enrollment): Uint8Array {
  return sha256(signedBytes(record, record.decidedBy ?? ""));
}

/** The purpose, the operator, and the names and values of the record in the order of the names. */
function signedBytes(record: Enrollment, operator: string): Uint8Array {
  // As readers get it.
  const stored = decodeMap(encodeRecord(record));
  const names = Object.keys(stored).filter((name) => !unsigned.has(name));
  const content = names.sort().map((name) => [name, stored[name] as Plain]);
  return Buffer.concat([Buffer.from(`${domain}${operator}\0`, "utf8"), encode(content as Plain)]);
}
