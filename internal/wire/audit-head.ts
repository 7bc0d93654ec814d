import * as v from "valibot";
import { rfc3339 } from "../base/clock.ts";
import { SvcError } from "../base/errors.ts";
import { decode, encode } from "../base/msgpack.ts";
import { type KeyPair, verifySignature } from "../identity/mod.ts";

/** The newest entry, as a master tells peels of it. */
export interface AuditHead {
  seq: number;
  /** SHA-256 of the stored bytes of that entry. */
  hash: Uint8Array;
  /** When that entry was written, milliseconds since the Unix epoch. */
  at: number;
}

const domain = Buffer.from("svc/audit-head/v1\0");
const maxHeadBytes = 1024;

const form = v.strictObject({
  seq: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  hash: v.pipe(v.instance(Uint8Array), v.length(32)),
  at: v.pipe(v.string(), v.isoTimestamp()),
  key: v.string(),
  signature: v.pipe(v.instance(Uint8Array), v.length(64)),
});

/** Signs the newest entry for peels: MessagePack of the head with the key and the signature. */
export function signHead(head: AuditHead, key: Pick<KeyPair, "publicKey" | "sign">): Uint8Array {
  const signature = key.sign(signedBytes(head));
  return new Uint8Array(encode({ ...fieldsOf(head), key: key.publicKey, signature }));
}

/**
 * Reads a head that a master signed.
 *
 * @param keys the command keys that count; absent for what was verified before
 * @throws SvcError `bad_request` when it is malformed, `unauthorized` when none of the keys signed it
 */
export function readHead(bytes: Uint8Array, keys: readonly string[] | undefined): AuditHead {
  const parsed = v.safeParse(form, decode(bytes, { bytes: maxHeadBytes, elements: 32 }));
  if (!parsed.success) throw new SvcError("bad_request", "not a head of the audit");
  const { seq, hash, at, key, signature } = parsed.output;
  const head = { seq, hash, at: Date.parse(at) };
  const isKnown = keys === undefined || keys.includes(key);
  if (!isKnown || !verifySignature("user", key, signedBytes(head), signature)) {
    throw new SvcError("unauthorized", "the head of the audit has no signature of a known command key");
  }
  return head;
}

const fieldsOf = ({ seq, hash, at }: AuditHead) => ({ seq, hash: new Uint8Array(hash), at: rfc3339(at) });

function signedBytes(head: AuditHead): Uint8Array {
  return Buffer.concat([domain, encode(fieldsOf(head))]);
}

/** Tells peels of the newest entry; signed once for each. @returns `undefined` before the first one */
export function createHeadTeller(
  audit: { readonly head: AuditHead | undefined },
  signer: Pick<KeyPair, "publicKey" | "sign">,
): () => Uint8Array | undefined {
  let told: { seq: number; key: string; signed: Uint8Array } | undefined;
  return () => {
    const { head } = audit;
    if (head === undefined) return undefined;
    if (told?.seq !== head.seq || told.key !== signer.publicKey) {
      told = { seq: head.seq, key: signer.publicKey, signed: signHead(head, signer) };
    }
    return told.signed;
  };
}
