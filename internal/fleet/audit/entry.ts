import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { decode, encode, type Plain, withFields } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import { type KeyPair, verifySignature } from "../../identity/mod.ts";

/** The way by which a request came. */
export const ways = ["bus", "rest", "console", "reactor", "rollout", "policy", "direct"] as const;
export type Way = (typeof ways)[number];

/** What became of a request. What begins has another entry when it ends. */
export const entryOutcomes = ["refused", "begun", "done", "failed"] as const;
export type EntryOutcome = (typeof entryOutcomes)[number];

/** What an entry says. */
export interface Content {
  /** Milliseconds since the Unix epoch. */
  at: number;
  /** The master that decided. */
  master: string;
  operator: string;
  /** The public key that signed the request; empty where none did. */
  key: string;
  via: Way;
  /** The name of the operation. */
  action: string;
  /** What it is about; `begun` is the sequence of the entry whose end this is. */
  subjects: { readonly [name: string]: Plain };
  outcome: EntryOutcome;
  reason?: string;
  /** Empty for work without a request. */
  requestId: string;
  /** SHA-256 of the signed request, or of its parsed fields as MessagePack. */
  requestDigest: Uint8Array;
}

/** An entry with its place in the chain. */
export interface Entry extends Content {
  /** 1 for the first; rises by one. It is also the sequence of the message in the stream. */
  seq: number;
  /** SHA-256 of the stored bytes of the entry before; 32 zero bytes for the first. */
  previous: Uint8Array;
  /** The public command key that signed it. */
  keyOfMaster: string;
  signature: Uint8Array;
}

/** A place in the chain: the sequence of an entry, and the SHA-256 of its stored bytes. */
export interface Link {
  /** 0 before the first entry. */
  seq: number;
  hash: Uint8Array;
}

/** Where every chain starts. */
export const beginning = (): Link => ({ seq: 0, hash: new Uint8Array(32) });

const domain = Buffer.from("svc/audit/v1\0");
/** A longer one is not from a master. */
const maxEntryBytes = 64 * 1024;

const digest = v.pipe(v.instance(Uint8Array), v.length(32));
const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const stored = v.strictObject({
  seq: whole,
  previous: digest,
  at: v.pipe(v.string(), v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)),
  master: v.string(),
  operator: v.string(),
  key: v.string(),
  via: v.picklist(ways),
  action: v.string(),
  subjects: v.record(
    v.string(),
    v.custom<Plain>(() => true),
  ),
  outcome: v.picklist(entryOutcomes),
  reason: v.exactOptional(v.string()),
  request_id: v.string(),
  request_digest: digest,
  key_of_master: v.string(),
  signature: v.pipe(v.instance(Uint8Array), v.length(64)),
});

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
  const fields = encode(fieldsOf(unsigned));
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
  const parsed = v.safeParse(stored, decode(bytes, { bytes: maxEntryBytes, elements: 10_000 }));
  if (!parsed.success) throw new SvcError("bad_request", "not an entry of the audit");
  const { at, request_id, request_digest, key_of_master, ...rest } = parsed.output;
  const entry: Entry = {
    ...rest,
    at: Date.parse(at),
    requestId: request_id,
    requestDigest: request_digest,
    keyOfMaster: key_of_master,
  };
  const isCanonical = Buffer.from(encode({ ...fieldsOf(entry), signature: entry.signature })).equals(bytes);
  if (!isCanonical) throw new SvcError("bad_request", "not an entry of the audit as masters write it");
  return entry;
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
  return Buffer.concat([domain, encode(fieldsOf(entry))]);
}

/** The stored fields but the signature, in their order. */
function fieldsOf(entry: Omit<Entry, "signature">): Record<string, Plain | undefined> {
  return {
    seq: entry.seq,
    previous: new Uint8Array(entry.previous),
    at: rfc3339(entry.at),
    master: entry.master,
    operator: entry.operator,
    key: entry.key,
    via: entry.via,
    action: entry.action,
    subjects: { ...entry.subjects },
    outcome: entry.outcome,
    reason: entry.reason,
    request_id: entry.requestId,
    request_digest: new Uint8Array(entry.requestDigest),
    key_of_master: entry.keyOfMaster,
  };
}
