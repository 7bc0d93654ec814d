import * as v from "valibot";
import { SvcError } from "../base/errors.ts";
import { type RecordOf, record } from "../base/record.ts";
import { bytes, list, part, textOf, time } from "../base/record-kinds.ts";
import { sha256Hex } from "../base/sha256.ts";
import { decodePublicKey, type KeyPair, verifySignature } from "../identity/mod.ts";
import type { Administrator } from "./administrators.ts";
import { operatorNameField } from "./operator-record.ts";

const greatestStatement = 2 ** 31 - 1;
/** A list of 64 with the longest names takes less. */
export const maxStatementBytes = 16 * 1024;

const key = v.pipe(
  v.string(),
  v.check((text) => decodePublicKey("user", text) !== undefined, "must be the public key of a user, U…"),
);
const administrators = list(part({ name: operatorNameField, publicKey: ["public_key", key] }), 64);

/** The fields that are signed, in the order in which they are signed and stored. */
const fields = {
  /**
   * Public key of the account of the peels. It names the fleet: each peel finds it in its credentials, so that the
   * statement counts in no other fleet.
   */
  fleet: textOf((text) => decodePublicKey("account", text) !== undefined, "the public key of an account"),
  /** Rises by one with each statement of a fleet, from 1. */
  version: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(greatestStatement)),
  /** 1 to 64. */
  administrators: {
    ...administrators,
    read: v.pipe(
      administrators.read,
      v.minLength(1, "must name an administrator"),
      v.check(areDistinct, "must name each administrator and each key once"),
    ),
  },
  /** Milliseconds since the Unix epoch. For people: the version decides which statement is newer. */
  issuedAt: ["issued_at", time],
} as const;
const signedFields = {
  ...fields,
  /** The key that signed, `U…`. */
  key,
  signature: bytes(64),
} as const;

/**
 * What an administrator says about the administrators: the whole list that takes the place of the one before, on
 * every peel of a fleet.
 */
export type AdministratorsStatement = RecordOf<typeof fields>;
/** A statement with the signature of an administrator. */
export type SignedAdministratorsStatement = RecordOf<typeof signedFields>;

const malformed = (problem: string) =>
  new SvcError("bad_request", `the statement about administrators is malformed: ${problem}`);
const content = record("statement", fields, { version: 1 });
const signed = record("statement", signedFields, {
  version: 1,
  limits: { bytes: maxStatementBytes, elements: 512 },
  malformed: (field, problem) => malformed(`${field === "(root)" ? "its top" : field}: ${problem}`),
});

/** The bytes that an administrator signs: the purpose, NUL, and the MessagePack of the map without its ends. */
export function administratorsMessage(statement: AdministratorsStatement): Uint8Array {
  return Buffer.concat([Buffer.from("svc/administrators/v1\0", "latin1"), content.encode(statement)]);
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
export const encodeAdministrators = signed.encode;

/**
 * Reads untrusted bytes, without judging the signature. Bytes that `encodeAdministrators` would not write are refused.
 *
 * @throws SvcError `bad_request` naming the field
 */
export function decodeAdministrators(bytes: Uint8Array): SignedAdministratorsStatement {
  const statement = signed.decode(bytes);
  if (!Buffer.from(encodeAdministrators(statement)).equals(bytes))
    throw malformed("it is not in canonical form");
  return statement;
}

function areDistinct(all: readonly Administrator[]): boolean {
  return (
    new Set(all.map((one) => one.name)).size === all.length &&
    new Set(all.map((one) => one.publicKey)).size === all.length
  );
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
