import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { described, plainMap, titled } from "../operation/mod.ts";

export const enrollmentStates = ["pending", "approved", "rejected", "issued", "active", "revoked"] as const;
export type EnrollmentState = (typeof enrollmentStates)[number];

/** One enrollment of one peel. Times are milliseconds since the Unix epoch. */
export interface Enrollment {
  id: string;
  peelId: string;
  /** Ed25519 key of the peel, `U…`. */
  publicKey: string;
  /** X25519 key of the peel, `X…`. */
  curvePublicKey: string;
  hostname?: string;
  metadata?: Record<string, Plain>;
  state: EnrollmentState;
  decidedBy?: string;
  rejectReason?: string;
  revokeReason?: string;
  trustedCaSpki?: string;
  trustSignature?: string;
  /** The attested CA root is not that of the master; absent without an attestation. */
  trustMismatch?: boolean;
  createdAt: number;
  updatedAt: number;
  decidedAt?: number;
  issuedAt?: number;
  activatedAt?: number;
  revokedAt?: number;
  credsExpiresAt?: number;
  /** The `U…` key of the issued JWT. */
  busPublicKey?: string;
  /** The last decision was written directly to storage, without a master. */
  direct?: boolean;
  /** What the peel signed when it enrolled, and its signature: they bind the curve key to the peel's key. */
  enrollChallenge?: Uint8Array;
  enrollSignature?: Uint8Array;
  /** MACs of masters over what does not change by decisions, and over the decisions. */
  identityVoucher?: Uint8Array;
  decisionVoucher?: Uint8Array;
}

/** Stored fields that no list and no answer shows. */
const hiddenNames = {
  enrollChallenge: "enroll_challenge",
  enrollSignature: "enroll_signature",
  identityVoucher: "identity_voucher",
  decisionVoucher: "decision_voucher",
} as const satisfies Partial<Record<keyof Enrollment, string>>;
type Hidden = keyof typeof hiddenNames;
/** The fields of a record that lists, REST and the bus show. */
type Shown = Exclude<keyof Enrollment, Hidden>;

const text = v.pipe(v.string(), v.maxLength(4096));
const time = v.pipe(v.string(), v.isoTimestamp());

/** The stored form: the field names of the specification, times as RFC 3339 strings. */
export const enrollmentSchema = titled(
  "Enrollment",
  v.object({
    id: text,
    peel_id: described(text, "Encoded peel id"),
    public_key: described(text, "Ed25519 public key of the peel"),
    curve_public_key: described(text, "X25519 public key of the peel"),
    hostname: v.optional(described(text, "Name of the host, as reported by the peel")),
    metadata: v.optional(described(plainMap, "Other data that the peel reported")),
    state: v.picklist(enrollmentStates),
    DecidedBy: v.optional(described(text, "Operator who made the last decision")),
    RejectReason: v.optional(text),
    RevokeReason: v.optional(text),
    trusted_ca_spki: v.optional(described(text, "SPKI pin of the CA root that the peel trusted")),
    trust_signature: v.optional(text),
    TrustMismatch: v.optional(described(v.boolean(), "That root is not the root of this fleet")),
    created_at: time,
    updated_at: time,
    decided_at: v.optional(time),
    issued_at: v.optional(time),
    activated_at: v.optional(time),
    revoked_at: v.optional(time),
    creds_expires_at: v.optional(described(time, "When the credentials expire")),
    bus_public_key: v.optional(described(text, "Public key of the credentials")),
    direct: v.optional(
      described(v.boolean(), "The last decision was written directly to storage, without a master"),
    ),
  }),
);
const hiddenBytes = v.optional(v.pipe(v.instance(Uint8Array), v.maxLength(64)));
const storedSchema = v.object({
  ...enrollmentSchema.entries,
  enroll_challenge: hiddenBytes,
  enroll_signature: hiddenBytes,
  identity_voucher: hiddenBytes,
  decision_voucher: hiddenBytes,
});
/** An enrollment as REST and the bus show it. */
export type StoredEnrollment = v.InferOutput<typeof enrollmentSchema>;

type StoredKey = keyof typeof enrollmentSchema.entries;

/** The only mapping between the names in the code and those on the wire and in storage. */
const storedNames = {
  id: "id",
  peelId: "peel_id",
  publicKey: "public_key",
  curvePublicKey: "curve_public_key",
  hostname: "hostname",
  metadata: "metadata",
  state: "state",
  decidedBy: "DecidedBy",
  rejectReason: "RejectReason",
  revokeReason: "RevokeReason",
  trustedCaSpki: "trusted_ca_spki",
  trustSignature: "trust_signature",
  trustMismatch: "TrustMismatch",
  createdAt: "created_at",
  updatedAt: "updated_at",
  decidedAt: "decided_at",
  issuedAt: "issued_at",
  activatedAt: "activated_at",
  revokedAt: "revoked_at",
  credsExpiresAt: "creds_expires_at",
  busPublicKey: "bus_public_key",
  direct: "direct",
} as const satisfies Record<Shown, StoredKey>;

const fields = Object.entries(storedNames) as [Shown, StoredKey][];
const hiddenFields = Object.entries(hiddenNames) as [Hidden, (typeof hiddenNames)[Hidden]][];
const timeFields = new Set<Shown>([
  "createdAt",
  "updatedAt",
  "decidedAt",
  "issuedAt",
  "activatedAt",
  "revokedAt",
  "credsExpiresAt",
]);

/** The record in the form of REST and the bus; absent fields are omitted. */
export function toStored(record: Enrollment): StoredEnrollment {
  return Object.fromEntries(
    fields.flatMap(([name, stored]) => {
      const value = record[name];
      if (value === undefined) return [];
      return [[stored, timeFields.has(name) ? rfc3339(value as number) : value]];
    }),
  ) as unknown as StoredEnrollment;
}

/**
 * Reads the stored form.
 *
 * @throws SvcError `internal` when it is not an enrollment record
 */
function fromStored(stored: unknown): Enrollment {
  const parsed = v.safeParse(storedSchema, stored);
  if (!parsed.success) {
    const path = v.getDotPath(parsed.issues[0]) ?? "(root)";
    throw new SvcError("internal", `a stored enrollment record is malformed at ${path}`);
  }
  const values = parsed.output;
  const shown = fields.flatMap(([name, key]) => {
    const value = values[key];
    if (value === undefined) return [];
    return [[name, timeFields.has(name) ? Date.parse(value as string) : value]];
  });
  const hidden = hiddenFields.flatMap(([name, key]) =>
    values[key] === undefined ? [] : [[name, values[key]]],
  );
  return Object.fromEntries([...shown, ...hidden]) as unknown as Enrollment;
}

/** A record in its stored form, by the names of its fields. */
export type StoredMap = Readonly<Record<string, unknown>>;

/** All that is stored of a record. */
export function toMap(record: Enrollment): StoredMap {
  const hidden = hiddenFields.flatMap(([name, key]) =>
    record[name] === undefined ? [] : [[key, record[name]]],
  );
  return { ...toStored(record), ...Object.fromEntries(hidden) };
}

/** Encodes a record for the bucket `enrollments`. */
export function encodeRecord(record: Enrollment): Uint8Array {
  return encode(toMap(record) as Plain);
}

/**
 * Decodes a value of the bucket `enrollments`.
 *
 * @throws SvcError `internal` when it is not an enrollment record
 */
export function decodeRecord(bytes: Uint8Array): Enrollment {
  return fromStored(decode(bytes));
}

/** The stored form without reading it as a record. @throws SvcError `internal` when it is not a map */
export function decodeMap(bytes: Uint8Array): StoredMap {
  const value = decode(bytes);
  const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isMap && !(value instanceof Uint8Array)) return value;
  throw new SvcError("internal", "a stored enrollment record is not a map");
}

/** The trust in lists: which root the peel trusts, or that the record itself is not trusted. */
export const trustWords = ["ok", "MISMATCH!", "-", "TAMPERED", "UNVOUCHED"] as const;
export type Trust = (typeof trustWords)[number];

/** Whether the peel trusted the CA root of this fleet; `-` when it did not report it. */
export function trustOf(
  record: Pick<Enrollment, "trustedCaSpki" | "trustMismatch">,
): "ok" | "MISMATCH!" | "-" {
  if (record.trustedCaSpki === undefined) return "-";
  return record.trustMismatch === true ? "MISMATCH!" : "ok";
}

/** The fields of an enrollment in lists. */
export interface EnrollmentSummary {
  id: string;
  peel_id: string;
  hostname: string;
  state: EnrollmentState;
  created_at: string;
  trust: Trust;
}

const storedSummary = v.object({
  id: text,
  peel_id: text,
  hostname: v.optional(text, ""),
  state: v.picklist(enrollmentStates),
  trusted_ca_spki: v.optional(text),
  TrustMismatch: v.optional(v.boolean()),
  created_at: v.pipe(v.string(), v.isoTimestamp()),
  creds_expires_at: v.optional(time),
});

/** The summary, and what a master monitors in addition. */
export type KnownEnrollment = EnrollmentSummary & {
  /** Milliseconds since the Unix epoch. */
  credsExpiresAt?: number;
};

/**
 * Reads only the fields for lists and the expiry of the credentials: a master does this for every change of
 * every record.
 *
 * @throws SvcError `internal` when it is not an enrollment record
 */
export function readSummary(map: StoredMap): KnownEnrollment {
  const parsed = v.safeParse(storedSummary, map);
  if (!parsed.success) throw new SvcError("internal", "a stored enrollment record is malformed");
  const { trusted_ca_spki, TrustMismatch, creds_expires_at, ...shown } = parsed.output;
  const attested = defined({ trustedCaSpki: trusted_ca_spki });
  const mismatch = defined({ trustMismatch: TrustMismatch });
  return {
    ...shown,
    trust: trustOf({ ...attested, ...mismatch }),
    ...(creds_expires_at === undefined ? {} : { credsExpiresAt: Date.parse(creds_expires_at) }),
  };
}

export function summarize(record: Enrollment): EnrollmentSummary {
  return {
    id: record.id,
    peel_id: record.peelId,
    hostname: record.hostname ?? "",
    state: record.state,
    created_at: rfc3339(record.createdAt),
    trust: trustOf(record),
  };
}
