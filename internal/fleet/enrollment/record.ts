import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
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
  /** The attested CA root is not the master's own; absent without an attestation. */
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
}

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
    hostname: v.optional(described(text, "Name of the host, as the peel says")),
    metadata: v.optional(described(plainMap, "What else the peel says of itself")),
    state: v.picklist(enrollmentStates),
    DecidedBy: v.optional(described(text, "Operator who decided last")),
    RejectReason: v.optional(text),
    RevokeReason: v.optional(text),
    trusted_ca_spki: v.optional(described(text, "SPKI pin of the CA root the peel trusted")),
    trust_signature: v.optional(text),
    TrustMismatch: v.optional(described(v.boolean(), "That root is not the one of this fleet")),
    created_at: time,
    updated_at: time,
    decided_at: v.optional(time),
    issued_at: v.optional(time),
    activated_at: v.optional(time),
    revoked_at: v.optional(time),
    creds_expires_at: v.optional(described(time, "When the bus stops accepting the credentials")),
    bus_public_key: v.optional(described(text, "The key of the credentials")),
  }),
);
/** An enrollment as it is stored, and as REST and the bus show it. */
export type StoredEnrollment = v.InferOutput<typeof enrollmentSchema>;

type StoredKey = keyof typeof enrollmentSchema.entries;

/** The one mapping between the names of the code and those of the wire and the storage. */
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
} as const satisfies Record<keyof Enrollment, StoredKey>;

const fields = Object.entries(storedNames) as [keyof Enrollment, StoredKey][];
const timeFields = new Set<keyof Enrollment>([
  "createdAt",
  "updatedAt",
  "decidedAt",
  "issuedAt",
  "activatedAt",
  "revokedAt",
  "credsExpiresAt",
]);

/** The record as REST and the bus show it; absent fields are left out. */
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
 * @throws SvcError `internal` when it is no enrollment record
 */
function fromStored(stored: unknown): Enrollment {
  const parsed = v.safeParse(enrollmentSchema, stored);
  if (!parsed.success) {
    const path = v.getDotPath(parsed.issues[0]) ?? "(root)";
    throw new SvcError("internal", `a stored enrollment record is malformed at ${path}`);
  }
  const values = parsed.output;
  return Object.fromEntries(
    fields.flatMap(([name, key]) => {
      const value = values[key];
      if (value === undefined) return [];
      return [[name, timeFields.has(name) ? Date.parse(value as string) : value]];
    }),
  ) as unknown as Enrollment;
}

/** Encodes a record for the bucket `enrollments`. */
export function encodeRecord(record: Enrollment): Uint8Array {
  return encode(toStored(record));
}

/** Decodes a value of the bucket `enrollments`. */
export function decodeRecord(bytes: Uint8Array): Enrollment {
  return fromStored(decode(bytes));
}

export type Trust = "ok" | "MISMATCH!" | "-";

/** Whether the peel trusted this fleet's own CA root; `-` when it did not say. */
export function trustOf(record: Pick<Enrollment, "trustedCaSpki" | "trustMismatch">): Trust {
  if (record.trustedCaSpki === undefined) return "-";
  return record.trustMismatch === true ? "MISMATCH!" : "ok";
}

/** What lists show of an enrollment. */
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
  bus_public_key: v.optional(text),
  bus_keys: v.optional(v.array(v.object({ public_key: text }))),
});

/** The summary, and what a master watches over beside it. */
export type KnownEnrollment = EnrollmentSummary & {
  /** Milliseconds since the Unix epoch. */
  credsExpiresAt?: number;
  /** Keys of the bus with which the peel may connect. */
  busKeys: readonly string[];
};

/**
 * Decodes of a stored record only what lists show, and when its credentials end: a master does it for every change of every record.
 *
 * @throws SvcError `internal` when it is no enrollment record
 */
export function decodeSummary(bytes: Uint8Array): KnownEnrollment {
  const parsed = v.safeParse(storedSummary, decode(bytes));
  if (!parsed.success) throw new SvcError("internal", "a stored enrollment record is malformed");
  const { trusted_ca_spki, TrustMismatch, creds_expires_at, bus_public_key, bus_keys, ...shown } =
    parsed.output;
  const current = bus_public_key === undefined ? [] : [bus_public_key];
  const attested = trusted_ca_spki === undefined ? {} : { trustedCaSpki: trusted_ca_spki };
  const mismatch = TrustMismatch === undefined ? {} : { trustMismatch: TrustMismatch };
  return {
    ...shown,
    trust: trustOf({ ...attested, ...mismatch }),
    busKeys: [...new Set([...current, ...(bus_keys ?? []).map(({ public_key }) => public_key)])],
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
