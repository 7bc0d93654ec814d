import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { record } from "../../base/record.ts";
import { blob, optional } from "../../base/record-kinds.ts";
import { type KeyPair, verifySignature } from "../../identity/mod.ts";

// A snapshot is verified by its digest, so the digest in force decides what hosts do, and the bus must not be
// able to choose it. A master signs what it publishes with a version that only grows, so that neither a
// forged tree nor an older one is accepted.

const domain = "svc/state-files/v1";
const digest = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** The published state, as signed by a master. */
export interface Statement {
  /** Grows with each publication; milliseconds since the Unix epoch, unless a clock was set back. */
  version: number;
  /** Fencing token of the publisher. */
  token: number;
  /** Digest of the catalog. */
  catalog: string;
  /** Digest of the snapshot in force of `base`, so that most peels do not need the catalog. */
  base?: string | undefined;
}

/** A statement with a verified signature, and the command key (`U…`) that signed it. */
export interface SignedStatement extends Statement {
  key: string;
}

const form = record(
  "statement",
  {
    version: whole,
    token: whole,
    catalog: digest,
    base: optional(digest),
    key: v.string(),
    signature: blob,
  },
  { version: 1, isOpen: true },
);

/** @param signer the command key */
export function signStatement(statement: Statement, signer: KeyPair): Uint8Array {
  const signature = signer.sign(signedBytes(statement));
  const { base, ...others } = statement;
  return form.encode({ ...others, ...defined({ base }), key: signer.publicKey, signature });
}

/**
 * Reads a statement and verifies that one of the keys signed it. The caller compares the version.
 *
 * @throws SvcError `forbidden` when it is not signed, signed by an unknown key, or has an invalid signature
 */
export function openStatement(bytes: Uint8Array | undefined, keys: readonly string[]): SignedStatement {
  if (bytes === undefined) throw refused("they are not signed");
  const statement = form.decodeOrNothing(bytes);
  if (statement === undefined) throw refused("the signed statement is malformed");
  const { version, token, catalog, base, key, signature } = statement;
  if (!keys.includes(key)) throw refused("signed by an unknown command key");
  if (!verifySignature("user", key, signedBytes(statement), signature))
    throw refused("the signature is wrong");
  return { version, token, catalog, base, key };
}

function signedBytes({ version, token, catalog, base }: Statement): Uint8Array {
  return Buffer.from([domain, version, token, catalog, base ?? ""].join("\0"), "latin1");
}

function refused(reason: string): SvcError {
  return new SvcError("forbidden", `state files refused: ${reason}`);
}
