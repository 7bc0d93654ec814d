import * as v from "valibot";
import { rfc3339 } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { SvcError } from "../base/errors.ts";
import { decode, encode } from "../base/msgpack.ts";
import { operatorNameForm, roleNameForm } from "../base/names.ts";
import { decodePublicKey, type KeyPair, verifySignature } from "../identity/mod.ts";

/** What an administrator says about one operator. Times are milliseconds since the Unix epoch. */
export interface OperatorRecord {
  name: string;
  /** The key of the operator, `U…`. */
  publicKey: string;
  roles: readonly string[];
  createdAt: number;
  /** The administrator who made the first version. */
  createdBy: string;
  expiresAt?: number;
  disabled?: true;
  /** Rises with each change. */
  version: number;
}

/** A record with the signature of an administrator. */
export interface SignedOperatorRecord extends OperatorRecord {
  /** The key that signed, `U…`. */
  key: string;
  /** 64 bytes. */
  signature: Uint8Array;
}

const greatestVersion = 2 ** 31 - 1;
const mostRoles = 16;
const mostBytes = 4_096;

/** Whether a text can be the name of an operator. */
export const isOperatorName = (text: string): boolean => operatorNameForm.test(text);

export const operatorNameField = v.pipe(
  v.string(),
  v.regex(
    operatorNameForm,
    "must be a name of 1 to 63 characters: lower-case letters, digits, dots, - and _",
  ),
);
const rolesField = v.pipe(
  v.array(v.pipe(v.string(), v.regex(roleNameForm, "must be the name of a role"))),
  v.minLength(1, "must name a role"),
  v.maxLength(mostRoles, `must have at most ${mostRoles} roles`),
  v.check((roles) => new Set(roles).size === roles.length, "must name each role once"),
);

/** RFC 3339 exactly as it is written here: one time has one spelling. */
const time = v.pipe(
  v.string(),
  v.isoTimestamp(),
  v.check((text) => isSpelled(text), "must have milliseconds, and Z"),
  v.transform((text) => Date.parse(text)),
);

function isSpelled(text: string): boolean {
  const at = Date.parse(text);
  return Number.isFinite(at) && rfc3339(at) === text;
}

const key = v.pipe(
  v.string(),
  v.check((text) => decodePublicKey("user", text) !== undefined, "must be the public key of a user, U…"),
);

const stored = v.strictObject({
  v: v.literal(1),
  name: operatorNameField,
  public_key: key,
  roles: rolesField,
  created_at: time,
  created_by: operatorNameField,
  expires_at: v.exactOptional(time),
  disabled: v.exactOptional(v.literal(true)),
  version: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(greatestVersion)),
  key,
  signature: v.pipe(v.instance(Uint8Array), v.length(64)),
});

/** The fields that are signed, in the order in which they are signed and stored. */
function mapOf(record: OperatorRecord) {
  return {
    v: 1,
    name: record.name,
    public_key: record.publicKey,
    roles: [...record.roles],
    created_at: rfc3339(record.createdAt),
    created_by: record.createdBy,
    ...defined({
      expires_at: record.expiresAt === undefined ? undefined : rfc3339(record.expiresAt),
      disabled: record.disabled,
    }),
    version: record.version,
  };
}

/** The bytes that an administrator signs: the purpose, NUL, and the MessagePack of the map without its ends. */
export function operatorMessage(record: OperatorRecord): Uint8Array {
  return Buffer.concat([Buffer.from("svc/operator/v1\0", "latin1"), encode(mapOf(record))]);
}

/** Signs a record with the key of an administrator. */
export function signOperator(record: OperatorRecord, administrator: Pick<KeyPair, "publicKey" | "sign">) {
  const signed: SignedOperatorRecord = {
    ...record,
    key: administrator.publicKey,
    signature: administrator.sign(operatorMessage(record)),
  };
  return signed;
}

/** Whether the key that a record names signed exactly this record. Who holds the key is another question. */
export function isSignedOperator(record: SignedOperatorRecord): boolean {
  return verifySignature("user", record.key, operatorMessage(record), record.signature);
}

/** The stored form. */
export function encodeOperator(record: SignedOperatorRecord): Uint8Array {
  return encode({ ...mapOf(record), key: record.key, signature: record.signature });
}

/**
 * Reads untrusted bytes, without judging the signature. A record has one spelling: bytes that `encodeOperator`
 * would not write are refused.
 *
 * @throws SvcError `bad_request` naming the field
 */
export function decodeOperator(bytes: Uint8Array): SignedOperatorRecord {
  const parsed = v.safeParse(stored, decode(bytes, { bytes: mostBytes, elements: 128 }));
  if (!parsed.success) {
    const [issue] = parsed.issues;
    const field = v.getDotPath(issue) ?? "record";
    throw new SvcError("bad_request", `the record of an operator is malformed: ${field}: ${issue.message}`);
  }
  const { name, roles, version, key: signer, signature, ...rest } = parsed.output;
  const record: SignedOperatorRecord = {
    name,
    publicKey: rest.public_key,
    roles,
    createdAt: rest.created_at,
    createdBy: rest.created_by,
    ...defined({ expiresAt: rest.expires_at, disabled: rest.disabled }),
    version,
    key: signer,
    signature: Uint8Array.from(signature),
  };
  if (!Buffer.from(encodeOperator(record)).equals(bytes)) {
    throw new SvcError("bad_request", "the record of an operator is malformed: it is spelled another way");
  }
  return record;
}
