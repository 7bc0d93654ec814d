import * as v from "valibot";
import { SvcError } from "../base/errors.ts";
import { isEnvironmentName, operatorNameForm, roleNameForm } from "../base/names/names.ts";
import { type RecordOf, record } from "../base/record.ts";
import { bytes, exactTime, optional } from "../base/record-kinds.ts";
import { decodePublicKey, type KeyPair, verifySignature } from "../identity/mod.ts";

const greatestVersion = 2 ** 31 - 1;
const maxRoles = 16;
/** The most that a record takes, in bytes. */
export const maxOperatorBytes = 16 * 1024;
/** Environments in one record. */
const maxReleased = 256;

/** Whether a text can be the name of an operator. */
export const isOperatorName = (text: string): boolean => operatorNameForm.test(text);

export const operatorNameField = v.pipe(
  v.string(),
  v.regex(
    operatorNameForm,
    "must be a name of 1 to 63 characters: lower-case letters, digits, dots, - and _",
  ),
);
/** The version of something that is signed again with each change. */
export const recordVersion = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(greatestVersion));
const rolesField = v.pipe(
  v.array(v.pipe(v.string(), v.regex(roleNameForm, "must be the name of a role"))),
  v.minLength(1, "must name a role"),
  v.maxLength(maxRoles, `must have at most ${maxRoles} roles`),
  v.check((roles) => new Set(roles).size === roles.length, "must name each role once"),
  v.readonly(),
);

/** Versions by environment, sorted by name: there is one spelling. */
const versions = {
  read: v.pipe(
    v.record(
      v.pipe(v.string(), v.check(isEnvironmentName, "must be the name of an environment")),
      recordVersion,
    ),
    v.check(
      (found) => Object.keys(found).length <= maxReleased,
      `must have at most ${maxReleased} environments`,
    ),
    v.transform((found): Readonly<Record<string, number>> => found),
  ),
  write: (found: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(found).toSorted(([one], [other]) => (one < other ? -1 : 1))),
};

const key = v.pipe(
  v.string(),
  v.check((text) => decodePublicKey("user", text) !== undefined, "must be the public key of a user, U…"),
);

/** The fields that are signed, in the order in which they are signed and stored. */
const fields = {
  name: operatorNameField,
  /** The key of the operator, `U…`. */
  publicKey: ["public_key", key],
  roles: rolesField,
  createdAt: ["created_at", exactTime],
  /** The administrator who made the first version. */
  createdBy: ["created_by", operatorNameField],
  expiresAt: ["expires_at", optional(exactTime)],
  disabled: optional(v.literal(true)),
  /**
   * Of an operator who is disabled: up to which version of each environment what it released stays released. Without
   * it nothing does.
   */
  released: optional(versions),
  /** Rises with each change. */
  version: recordVersion,
} as const;
const signedFields = {
  ...fields,
  /** The key that signed, `U…`. */
  key,
  signature: bytes(64),
} as const;

/** What an administrator says about one operator. Times are milliseconds since the Unix epoch. */
export type OperatorRecord = RecordOf<typeof fields>;
/** A record with the signature of an administrator. */
export type SignedOperatorRecord = RecordOf<typeof signedFields>;

const malformed = (problem: string) =>
  new SvcError("bad_request", `the record of an operator is malformed: ${problem}`);
const content = record("operator", fields, { version: 1 });
const signed = record("operator", signedFields, {
  version: 1,
  limits: { bytes: maxOperatorBytes, elements: 128 + 2 * maxReleased },
  malformed: (field, problem) => malformed(`${field}: ${problem}`),
});

/** The bytes that an administrator signs: the purpose, NUL, and the MessagePack of the map without its ends. */
export function operatorMessage(record: OperatorRecord): Uint8Array {
  return Buffer.concat([Buffer.from("svc/operator/v1\0", "latin1"), content.encode(record)]);
}

/** Signs a record with the key of an administrator. */
export function signOperator(
  record: OperatorRecord,
  administrator: Pick<KeyPair, "publicKey" | "sign">,
): SignedOperatorRecord {
  return {
    ...record,
    key: administrator.publicKey,
    signature: administrator.sign(operatorMessage(record)),
  };
}

/** Whether the key that a record names signed exactly this record. It does not show who holds the key. */
export function isSignedOperator(record: SignedOperatorRecord): boolean {
  return verifySignature("user", record.key, operatorMessage(record), record.signature);
}

/**
 * Where the last record of an operator is kept when another operator takes the name. No name begins with an upper-case
 * letter, so this is never the name of an operator.
 */
export const lastRecordKey = ({ name, publicKey }: Pick<OperatorRecord, "name" | "publicKey">): string =>
  `${publicKey}.${name}`;

/** Up to which version the releases of a disabled operator stay; 0 when none does. */
export const releasedUpTo = (
  { released = {} }: Pick<OperatorRecord, "released">,
  environment: string,
): number => (Object.hasOwn(released, environment) ? released[environment] : undefined) ?? 0;

/** The stored form. */
export const encodeOperator = signed.encode;

/**
 * Reads untrusted bytes, without judging the signature. A record has one spelling: bytes that `encodeOperator`
 * would not write are refused.
 *
 * @throws SvcError `bad_request` naming the field
 */
export function decodeOperator(bytes: Uint8Array): SignedOperatorRecord {
  const record = signed.decode(bytes);
  if (!Buffer.from(encodeOperator(record)).equals(bytes)) throw malformed("it is not in canonical form");
  if (record.released !== undefined && record.disabled !== true) {
    throw malformed("released: belongs to an operator who is disabled");
  }
  return record;
}
