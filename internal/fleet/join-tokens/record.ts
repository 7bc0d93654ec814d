import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { isId } from "../../base/id.ts";
import { instant } from "../../base/instant.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { isEqualMac, type RecordMac } from "../../identity/mod.ts";
import type { Labels } from "../enrollment/mod.ts";

/** A token that hosts join with, without its secret. Times are milliseconds since the Unix epoch. */
export interface JoinTokenRecord {
  /** `jtk-…`, also its key in the bucket. */
  id: string;
  /** SHA-256 of the secret. */
  digest: Uint8Array;
  /** A glob on peel ids with dots; `*` is every host. */
  peel: string;
  /** How many hosts it admits. */
  uses: number;
  createdAt: number;
  expiresAt: number;
  /** What its hosts get. */
  labels: Labels;
  createdBy: string;
  /** Its hosts wait for an operator. */
  hold: boolean;
  note?: string;
  revokedAt?: number;
  revokedBy?: string;
}

const bytes = v.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length === 32);
const short = v.pipe(v.string(), v.minLength(1), v.maxLength(256));

const stored = v.strictObject({
  v: v.literal(1),
  id: v.pipe(
    v.string(),
    v.check((text) => isId("jtk", text)),
  ),
  sha256: bytes,
  peel: v.pipe(v.string(), v.minLength(1), v.maxLength(255)),
  uses: v.pipe(v.number(), v.integer(), v.minValue(1)),
  created_at: instant,
  expires_at: instant,
  labels: v.record(v.string(), v.string()),
  created_by: short,
  hold: v.boolean(),
  note: v.optional(v.string()),
  revoked_at: v.optional(instant),
  revoked_by: v.optional(short),
  voucher: bytes,
});

/** The stored form of a token, with the MAC of a master: who controls the bus cannot make one. */
export function encodeToken(mac: RecordMac, token: JoinTokenRecord): Uint8Array {
  return encode({ ...fieldsOf(token), voucher: mac("join-token", contentOf(token)) });
}

/**
 * Reads a stored token.
 *
 * @returns `undefined` when no master vouches for it under this key
 * @throws Error when it is malformed
 */
export function decodeToken(mac: RecordMac, key: string, value: Uint8Array): JoinTokenRecord | undefined {
  const found = v.parse(stored, decode(value));
  const token: JoinTokenRecord = {
    ...{ id: found.id, digest: Uint8Array.from(found.sha256), peel: found.peel, uses: found.uses },
    ...{ createdAt: found.created_at, expiresAt: found.expires_at, labels: found.labels },
    ...{ createdBy: found.created_by, hold: found.hold },
    ...defined({ note: found.note, revokedAt: found.revoked_at, revokedBy: found.revoked_by }),
  };
  if (token.id !== key || !isEqualMac(mac("join-token", contentOf(token)), found.voucher)) return undefined;
  return token;
}

function fieldsOf({ id, digest, peel, uses, labels, createdBy, hold, note, ...rest }: JoinTokenRecord) {
  return {
    ...{ v: 1, id, sha256: digest, peel, uses },
    ...{ created_at: rfc3339(rest.createdAt), expires_at: rfc3339(rest.expiresAt) },
    ...{ labels, created_by: createdBy, hold },
    ...defined({
      note,
      revoked_at: rest.revokedAt === undefined ? undefined : rfc3339(rest.revokedAt),
      revoked_by: rest.revokedBy,
    }),
  };
}

/** Every field, in a fixed order; labels by name. */
function contentOf(token: JoinTokenRecord): unknown {
  const { labels, note, revoked_at, revoked_by, ...always } = fieldsOf(token);
  const named = Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1));
  return [...Object.values(always), named, ...[note, revoked_at, revoked_by].map((value) => value ?? null)];
}
