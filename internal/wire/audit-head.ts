import * as v from "valibot";
import { SvcError } from "../base/errors.ts";
import { type RecordOf, record } from "../base/record.ts";
import { bytes, time } from "../base/record-kinds.ts";
import { type KeyPair, verifySignature } from "../identity/mod.ts";

const fields = {
  seq: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  /** SHA-256 of the stored bytes of that entry. */
  hash: bytes(32),
  /** When that entry was written, milliseconds since the Unix epoch. */
  at: time,
} as const;

/** The newest entry, as a master reports it to peels. */
export type AuditHead = RecordOf<typeof fields>;

const maxHeadBytes = 1024;
const content = record("head", fields);
const signed = record(
  "head",
  { ...fields, key: v.string(), signature: bytes(64) },
  {
    limits: { bytes: maxHeadBytes, elements: 32 },
    malformed: () => new SvcError("bad_request", "not a head of the audit"),
  },
);
const domain = Buffer.from("svc/audit-head/v1\0");

/** Signs the newest entry for peels: MessagePack of the head with the key and the signature. */
export function signHead(head: AuditHead, key: Pick<KeyPair, "publicKey" | "sign">): Uint8Array {
  const signature = key.sign(signedBytes(head));
  return new Uint8Array(signed.encode({ ...head, key: key.publicKey, signature }));
}

/**
 * Reads a head that a master signed.
 *
 * @param keys the command keys that count; absent for what was verified before
 * @throws SvcError `bad_request` when it is malformed, `unauthorized` when none of the keys signed it
 */
export function readHead(bytes: Uint8Array, keys: readonly string[] | undefined): AuditHead {
  const { key, signature, ...head } = signed.decode(bytes);
  const isKnown = keys === undefined || keys.includes(key);
  if (!isKnown || !verifySignature("user", key, signedBytes(head), signature)) {
    throw new SvcError("unauthorized", "the head of the audit has no signature of a known command key");
  }
  return head;
}

function signedBytes(head: AuditHead): Uint8Array {
  return Buffer.concat([domain, content.encode(head)]);
}

/** Tells peels of the newest entry; signed once for each. @returns `undefined` before the first one */
export function createHeadTeller(
  audit: { readonly head: AuditHead | undefined },
  signer: Pick<KeyPair, "publicKey" | "sign">,
): () => Uint8Array | undefined {
  let reported: { seq: number; key: string; signed: Uint8Array } | undefined;
  return () => {
    const { head } = audit;
    if (head === undefined) return undefined;
    if (reported?.seq !== head.seq || reported.key !== signer.publicKey) {
      reported = { seq: head.seq, key: signer.publicKey, signed: signHead(head, signer) };
    }
    return reported.signed;
  };
}
