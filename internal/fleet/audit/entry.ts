import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { type Plain, withFields } from "../../base/msgpack.ts";
import { type RecordOf, record } from "../../base/record.ts";
import { bytes, exactTime, optional } from "../../base/record-kinds.ts";
import { sha256 } from "../../base/sha256.ts";
import { type KeyPair, verifySignature } from "../../identity/mod.ts";

/** The way by which a request came. */
export const ways = ["bus", "rest", "console", "reactor", "rollout", "policy", "direct"] as const;

/** What became of a request. What begins has another entry when it ends. */
export const entryOutcomes = ["refused", "begun", "done", "failed"] as const;
export type EntryOutcome = (typeof entryOutcomes)[number];

/** A longer one is not from a master. */
const maxEntryBytes = 64 * 1024;

/** What an entry says. */
const contentFields = {
  /** Milliseconds since the Unix epoch. */
  at: exactTime,
  /** The master that decided. */
  master: v.string(),
  operator: v.string(),
  /** The public key that signed the request; empty where none did. */
  key: v.string(),
  via: v.picklist(ways),
  /** The name of the operation. */
  action: v.string(),
  /** What it is about; `begun` is the sequence of the entry whose end this is. */
  subjects: v.record(
    v.string(),
    v.custom<Plain>(() => true),
  ),
  outcome: v.picklist(entryOutcomes),
  reason: optional(v.string()),
  /** Empty for work without a request. */
  requestId: ["request_id", v.string()],
  /** SHA-256 of the signed request, or of its parsed fields as MessagePack. */
  requestDigest: ["request_digest", bytes(32)],
} as const;

/** The fields that are signed, in the order in which they are signed and stored. */
const signedFields = {
  /** 1 for the first; rises by one. It is also the sequence of the message in the stream. */
  seq: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  /** SHA-256 of the stored bytes of the entry before; 32 zero bytes for the first. */
  previous: bytes(32),
  ...contentFields,
  /** The public command key that signed it. */
  keyOfMaster: ["key_of_master", v.string()],
} as const;
const fields = { ...signedFields, signature: bytes(64) } as const;

export type Content = RecordOf<typeof contentFields>;
/** An entry with its place in the chain. */
export type Entry = RecordOf<typeof fields>;

const signed = record("entry", signedFields);
const stored = record("entry", fields, {
  limits: { bytes: maxEntryBytes, elements: 10_000 },
  malformed: () => new SvcError("bad_request", "not an entry of the audit"),
});

/** A place in the chain: the sequence of an entry, and the SHA-256 of its stored bytes. */
export interface Link {
  /** 0 before the first entry. */
  seq: number;
  hash: Uint8Array;
}

/** Where every chain starts. */
export const beginning = (): Link => ({ seq: 0, hash: new Uint8Array(32) });

const domain = Buffer.from("svc/audit/v1\0");
/**
 * Writes the next entry of a chain.
 *
 * @param after the place that it continues
 * @returns the bytes to store, and the place of the new entry
 */
export function writeEntry(
  content: Content,
  after: Link,
  key: Pick<KeyPair, "publicKey" | "sign">,
): { bytes: Uint8Array; link: Link } {
  const seq = after.seq + 1;
  const unsigned = { ...content, seq, previous: after.hash, keyOfMaster: key.publicKey };
  // The fields are encoded once, for the signature and for what is stored.
  const fields = signed.encode(unsigned);
  const bytes = withFields(fields, { signature: key.sign(Buffer.concat([domain, fields])) });
  return { bytes, link: { seq, hash: sha256(bytes) } };
}

/**
 * Reads the stored bytes of an entry. Only the one spelling that masters write is accepted: the signature covers it,
 * and the next entry its hash.
 *
 * @throws SvcError `bad_request`
 */
export function readEntry(bytes: Uint8Array): Entry {
  const entry = stored.decode(bytes);
  if (Buffer.from(stored.encode(entry)).equals(bytes)) return entry;
  throw new SvcError("bad_request", "not an entry of the audit as masters write it");
}

/** Whether a master signed this entry with the key that it names. */
export function isSignedEntry(entry: Entry): boolean {
  return verifySignature("user", entry.keyOfMaster, signedBytes(entry), entry.signature);
}

/** An entry that a master wrote for this place; `undefined` for anything else. */
export function genuineEntry(bytes: Uint8Array, seq: number, keys: readonly string[]): Entry | undefined {
  try {
    const entry = readEntry(bytes);
    const isGenuine = entry.seq === seq && keys.includes(entry.keyOfMaster) && isSignedEntry(entry);
    return isGenuine ? entry : undefined;
  } catch {
    return undefined;
  }
}

function signedBytes(entry: Omit<Entry, "signature">): Uint8Array {
  return Buffer.concat([domain, signed.encode(entry)]);
}
