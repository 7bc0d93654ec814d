import * as v from "valibot";
import { rfc3339 } from "../base/clock.ts";
import { SvcError } from "../base/errors.ts";
import { decode, encode } from "../base/msgpack.ts";
import { sha256Hex } from "../base/sha256.ts";
import { decodePublicKey, type KeyPair, verifySignature } from "../identity/mod.ts";
import type { Administrator } from "./administrators.ts";
import { operatorNameField } from "./operator-record.ts";

/**
 * What an administrator says about the administrators: the whole list that takes the place of the one before, on
 * every peel of a fleet.
 */
export interface AdministratorsStatement {
  /**
   * Public key of the account of the peels. It names the fleet: each peel finds it in its credentials, so that the
   * statement counts in no other fleet.
   */
  fleet: string;
  /** Rises by one with each statement of a fleet, from 1. */
  version: number;
  /** 1 to 64. */
  administrators: readonly Administrator[];
  /** Milliseconds since the Unix epoch. For people: the version decides which statement is newer. */
  issuedAt: number;
}

/** A statement with the signature of an administrator. */
export interface SignedAdministratorsStatement extends AdministratorsStatement {
  /** The key that signed, `U…`. */
  key: string;
  /** 64 bytes. */
  signature: Uint8Array;
}

const greatestStatement = 2 ** 31 - 1;
/** A list of 64 with the longest names takes less. */
export const maxStatementBytes = 16 * 1024;

const key = v.pipe(
  v.string(),
  v.check((text) => decodePublicKey("user", text) !== undefined, "must be the public key of a user, U…"),
);
const list = v.pipe(
  v.array(v.strictObject({ name: operatorNameField, public_key: key })),
  v.minLength(1, "must name an administrator"),
  v.maxLength(64, "must name at most 64 administrators"),
  v.check(
    (all) =>
      new Set(all.map((one) => one.name)).size === all.length &&
      new Set(all.map((one) => one.public_key)).size === all.length,
    "must name each administrator and each key once",
  ),
);
const stored = v.strictObject({
  v: v.literal(1),
  fleet: v.pipe(
    v.string(),
    v.check((text) => decodePublicKey("account", text) !== undefined, "must be the public key of an account"),
  ),
  version: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(greatestStatement)),
  administrators: list,
  issued_at: v.pipe(v.string(), v.isoTimestamp()),
  key,
  signature: v.pipe(v.instance(Uint8Array), v.length(64)),
});

/** The fields that are signed, in the order in which they are signed and stored. */
function mapOf({ fleet, version, administrators, issuedAt }: AdministratorsStatement) {
  return {
    v: 1,
    fleet,
    version,
    administrators: administrators.map(({ name, publicKey }) => ({ name, public_key: publicKey })),
    issued_at: rfc3339(issuedAt),
  };
}

/** The bytes that an administrator signs: the purpose, NUL, and the MessagePack of the map without its ends. */
export function administratorsMessage(statement: AdministratorsStatement): Uint8Array {
  return Buffer.concat([Buffer.from("svc/administrators/v1\0", "latin1"), encode(mapOf(statement))]);
}

/** Signs a statement with the key of an administrator that the peels know now. */
export function signAdministrators(
  statement: AdministratorsStatement,
  administrator: Pick<KeyPair, "publicKey" | "sign">,
): SignedAdministratorsStatement {
  const signature = administrator.sign(administratorsMessage(statement));
  return { ...statement, key: administrator.publicKey, signature };
}

/** Whether the key that a statement names signed exactly this. Whether that key may is another question. */
export function isSignedStatement(statement: SignedAdministratorsStatement): boolean {
  return verifySignature("user", statement.key, administratorsMessage(statement), statement.signature);
}

/** The stored form. */
export function encodeAdministrators(statement: SignedAdministratorsStatement): Uint8Array {
  return encode({ ...mapOf(statement), key: statement.key, signature: statement.signature });
}

/**
 * Reads untrusted bytes, without judging the signature. Bytes that `encodeAdministrators` would not write are refused.
 *
 * @throws SvcError `bad_request` naming the field
 */
export function decodeAdministrators(bytes: Uint8Array): SignedAdministratorsStatement {
  const parsed = v.safeParse(stored, decode(bytes, { bytes: maxStatementBytes, elements: 512 }));
  if (!parsed.success) {
    const [issue] = parsed.issues;
    const field = v.getDotPath(issue) ?? "its top";
    throw new SvcError(
      "bad_request",
      `the statement about administrators is malformed: ${field}: ${issue.message}`,
    );
  }
  const { fleet, version, administrators, issued_at, key: signer, signature } = parsed.output;
  const statement: SignedAdministratorsStatement = {
    fleet,
    version,
    administrators: administrators.map(({ name, public_key }) => ({ name, publicKey: public_key })),
    issuedAt: Date.parse(issued_at),
    key: signer,
    signature: Uint8Array.from(signature),
  };
  if (!Buffer.from(encodeAdministrators(statement)).equals(bytes)) {
    throw new SvcError(
      "bad_request",
      "the statement about administrators is malformed: it is not in canonical form",
    );
  }
  return statement;
}

/** Whether two lists name the same people with the same keys, in whatever order. */
export function isSameList(one: readonly Administrator[], other: readonly Administrator[]): boolean {
  const texts = new Set(one.map(({ name, publicKey }) => `${publicKey} ${name}`));
  return (
    texts.size === new Set(other.map(({ publicKey }) => publicKey)).size &&
    other.every(({ name, publicKey }) => texts.has(`${publicKey} ${name}`))
  );
}

/** The SHA-256 of a list, hex, whatever its order: two with the same digest name the same people and keys. */
export function digestOfAdministrators(list: readonly Administrator[]): string {
  const lines = list.map(({ name, publicKey }) => `${publicKey} ${name}\n`).sort();
  return sha256Hex(Buffer.from(lines.join("")));
}
