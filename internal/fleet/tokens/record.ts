import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { isId } from "../../base/id.ts";
import { instant } from "../../base/instant.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { isEqualMac, macsFor, type RecordMac } from "../../identity/mod.ts";

/**
 * Where the creator of a token is known: in the registry of operators, in the configuration of a master, or, with
 * credentials of earlier versions, nowhere.
 */
export const creatorKinds = ["registered", "file", "unregistered"] as const;
export type CreatorKind = (typeof creatorKinds)[number];

/** A token of the REST API, without the token itself. Times are milliseconds since the Unix epoch. */
export interface Token {
  id: string;
  /** Also the key in the bucket, so that there is one of a name. */
  name: string;
  /** SHA-256 of the text. */
  digest: Uint8Array;
  roles: readonly string[];
  createdBy: string;
  creator: CreatorKind;
  createdAt: number;
  expiresAt: number;
  /** By the hour. */
  lastUsedAt?: number;
  revokedAt?: number;
  revokedBy?: string;
}

const nameForm = /^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$/;

/** Whether a token may have this name. */
export const isTokenName = (name: string): boolean => nameForm.test(name);

const bytes = v.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length === 32);
const short = v.pipe(v.string(), v.minLength(1), v.maxLength(256));

const stored = v.strictObject({
  v: v.literal(1),
  id: v.pipe(
    v.string(),
    v.check((text) => isId("tok", text)),
  ),
  name: v.pipe(v.string(), v.check(isTokenName)),
  sha256: bytes,
  roles: v.pipe(v.array(short), v.maxLength(64)),
  created_by: short,
  creator: v.picklist(creatorKinds),
  created_at: instant,
  expires_at: instant,
  last_used_at: v.optional(instant),
  revoked_at: v.optional(instant),
  revoked_by: v.optional(short),
  voucher: bytes,
});

/** The stored form of a token, with the MAC of a master: who controls the bus cannot make one. */
export function encodeToken(mac: RecordMac, token: Token): Uint8Array {
  return encode({ ...fieldsOf(token), voucher: mac("token", contentOf(token)) });
}

/**
 * Reads a stored token.
 *
 * @returns `undefined` when no master vouches for it under this key
 * @throws Error when it is malformed
 */
export function decodeToken(mac: RecordMac, key: string, value: Uint8Array): Token | undefined {
  const found = v.parse(stored, decode(value));
  const token: Token = {
    id: found.id,
    name: found.name,
    digest: Uint8Array.from(found.sha256),
    roles: found.roles,
    createdBy: found.created_by,
    creator: found.creator,
    createdAt: found.created_at,
    expiresAt: found.expires_at,
    ...defined({
      lastUsedAt: found.last_used_at,
      revokedAt: found.revoked_at,
      revokedBy: found.revoked_by,
    }),
  };
  if (token.name !== key) return undefined;
  const isGenuine = macsFor(mac, token.id).some((one) =>
    isEqualMac(one("token", contentOf(token)), found.voucher),
  );
  return isGenuine ? token : undefined;
}

/** The same for what will be replaced: `undefined` also for what is malformed. */
export function readOrNothing(mac: RecordMac, key: string, value: Uint8Array): Token | undefined {
  try {
    return decodeToken(mac, key, value);
  } catch {
    return undefined;
  }
}

function fieldsOf({ id, name, digest, roles, createdBy, creator, ...times }: Token) {
  const at = (ms: number | undefined) => (ms === undefined ? undefined : rfc3339(ms));
  return {
    ...{ v: 1, id, name, sha256: digest, roles, created_by: createdBy, creator },
    ...{ created_at: rfc3339(times.createdAt), expires_at: rfc3339(times.expiresAt) },
    ...defined({
      last_used_at: at(times.lastUsedAt),
      revoked_at: at(times.revokedAt),
      revoked_by: times.revokedBy,
    }),
  };
}

/** Every field, in a fixed order. */
function contentOf(token: Token): unknown {
  const { last_used_at, revoked_at, revoked_by, ...always } = fieldsOf(token);
  const sometimes = [last_used_at, revoked_at, revoked_by].map((value) => value ?? null);
  return [...Object.values(always), ...sometimes];
}
