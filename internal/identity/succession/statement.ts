import * as v from "valibot";
import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { SvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import { decodePublicKey, type KeyPair, verifySignature } from "../mod.ts";

/** What a fleet says about itself when it succeeds another one: everything a peel must know to join it. */
export interface Succession {
  v: 1;
  /** Counts the successions of a fleet, from 1. A peel accepts only a greater one than its last. */
  serial: number;
  /** RFC 3339. For people: the serial decides which statement is newer. */
  issued_at: string;
  /** PEM of the root of the new fleet. */
  ca_bundle_pem: string;
  /** SPKI pin of that root. */
  fingerprint: string;
  /** Public keys that sign commands. */
  command_keys: string[];
  /** Public keys that may sign the next statement. */
  recovery_keys: string[];
  master_urls: string[];
  bus_urls: string[];
}

/** A statement with the signature of a recovery key. */
export interface SignedSuccession extends Succession {
  /** Standard base64 of 64 bytes. */
  signature: string;
  /** The recovery key that signed, `U…`. */
  key: string;
}

const greatestSerial = 2 ** 31 - 1;
const maxItems = 64;
const text = v.pipe(v.string(), v.maxLength(512));
const list = v.pipe(v.array(text), v.minLength(1), v.maxLength(maxItems));
const keys = v.pipe(
  list,
  v.everyItem((key) => decodePublicKey("user", key) !== undefined, "is not a list of public keys"),
);
const schema = v.object({
  v: v.literal(1),
  serial: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(greatestSerial)),
  issued_at: v.pipe(text, v.isoTimestamp()),
  ca_bundle_pem: v.pipe(v.string(), v.maxLength(64 * 1024)),
  fingerprint: text,
  command_keys: keys,
  recovery_keys: keys,
  master_urls: list,
  bus_urls: list,
  signature: text,
  key: text,
});

/**
 * Reads an untrusted statement, without judging its signature. Unknown fields are ignored: they are not signed.
 *
 * @throws SvcError `bad_request` naming the field that is malformed
 */
export function parseSuccession(value: unknown): SignedSuccession {
  const parsed = v.safeParse(schema, value);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  throw new SvcError(
    "bad_request",
    `the statement of succession is malformed at ${v.getDotPath(issue) ?? "its top"}`,
  );
}

/** The bytes that a recovery key signs: the purpose, NUL, and the MessagePack of the fields in this order. */
export function successionMessage(statement: Succession): Uint8Array {
  const { v: form, serial, issued_at, ca_bundle_pem, fingerprint } = statement;
  const { command_keys, recovery_keys, master_urls, bus_urls } = statement;
  return Buffer.concat([
    Buffer.from("svc/succession/v1\0", "latin1"),
    encode({
      v: form,
      serial,
      issued_at,
      ca_bundle_pem,
      fingerprint,
      command_keys,
      recovery_keys,
      master_urls,
      bus_urls,
    }),
  ]);
}

/** Signs a statement with the recovery key of the fleet that it succeeds. */
export function signSuccession(statement: Succession, recovery: KeyPair): SignedSuccession {
  const signature = encodeBase64(recovery.sign(successionMessage(statement)));
  return { ...statement, signature, key: recovery.publicKey };
}

/** Whether the key that a statement names signed exactly this statement. */
export function isSigned(statement: SignedSuccession): boolean {
  const signature = decodeBase64(statement.signature);
  if (signature === undefined) return false;
  return verifySignature("user", statement.key, successionMessage(statement), signature);
}
