import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { described, plainMap, titled } from "../../base/schema.ts";
import { type EvidenceType, evidenceTypes } from "../../identity/evidence/mod.ts";
import { keyFingerprint } from "../../identity/mod.ts";
import { type Labels, labelsField } from "./labels.ts";
import { type LeftSites, leftSitesField } from "./left-sites.ts";

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
  /** What the fleet says of this peel; a new enrollment of the same host starts without. */
  labels?: Labels;
  /** The address from which the host asked to join. */
  address?: string;
  /** What the host proved about itself, in addition to its key. */
  evidence?: Evidence;
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
  /** The `U…` key of the JWT that the peel uses now, the last one of `busKeys`. */
  busPublicKey?: string;
  /** All keys whose JWTs have not expired, the current one last. Absent before the first credentials. */
  busKeys?: readonly BusKey[];
  renewedAt?: number;
  /** How often the peel renewed its credentials. */
  renewals?: number;
  recoveredAt?: number;
  /** How often the peel recovered credentials over HTTPS. */
  recoveries?: number;
  rekeyedAt?: number;
  /** The public key before the last change of keys. */
  previousPublicKey?: string;
  /** Someone renewed with a key that is not the current one: two hosts hold this identity. */
  cloneSuspected?: boolean;
  cloneSeenAt?: number;
  /** A succession took over this enrollment: the peel gets its credentials by recovery. */
  succeeded?: boolean;
  /** Present while the peel is kept off the bus; its state stays. */
  suspended?: Suspension;
  /** The last decision was written directly to storage, without a master. */
  direct?: boolean;
  /** The operator who made it, if one signed it. */
  directSignature?: DirectSignature;
  /** What the peel signed when it enrolled, and its signature: they bind the curve key to the peel's key. */
  enrollChallenge?: Uint8Array;
  enrollSignature?: Uint8Array;
  /** What the peel signed with its new key when it last changed its keys: it binds the new curve key. */
  rekeyProof?: RekeyProof;
  /** The key that was current before `busPublicKey`: a repeated renewal names it. */
  renewedFrom?: string;
  /** Sites whose label was taken off it while its credentials may have named them, oldest first. */
  leftSites?: LeftSites;
  /** When the peel last renewed its credentials, oldest first; the rate limit counts them. */
  recentRenewals?: readonly number[];
  /** MACs of masters over what does not change by decisions, and over the decisions. */
  identityVoucher?: Uint8Array;
  decisionVoucher?: Uint8Array;
}

/** What a host proved about itself, in addition to its key. */
export interface Evidence {
  type: EvidenceType;
  /** What the proof names, such as the subject of a certificate. */
  fields: Record<string, Plain>;
}

/** A key with which a peel may connect to the bus. */
export interface BusKey {
  /** `U…` */
  publicKey: string;
  /** When its JWT expires, milliseconds since the Unix epoch. */
  expiresAt: number;
}

/** The fields of a signed change of keys that are not in the record anyway. */
export interface RekeyProof {
  busPublicKey: string;
  signedAt: string;
  /** Of the new key, 64 bytes. */
  signature: Uint8Array;
}

/** Who signed a direct decision. */
export interface DirectSignature {
  operator: string;
  /** `U…` */
  key: string;
  /** 64 bytes. */
  signature: Uint8Array;
}

/** Why a peel is kept off the bus, and since when. */
export interface Suspension {
  at: number;
  reason: string;
}

/** Stored fields that no list and no answer shows. */
const hiddenNames = {
  directSignature: "direct_signature",
  enrollChallenge: "enroll_challenge",
  enrollSignature: "enroll_signature",
  rekeyProof: "rekey_proof",
  renewedFrom: "renewed_from",
  leftSites: "left_sites",
  recentRenewals: "recent_renewals",
  identityVoucher: "identity_voucher",
  decisionVoucher: "decision_voucher",
} as const satisfies Partial<Record<keyof Enrollment, string>>;
type Hidden = keyof typeof hiddenNames;
/** The fields of a record that lists, REST and the bus show. */
type Shown = Exclude<keyof Enrollment, Hidden>;

const text = v.pipe(v.string(), v.maxLength(4096));
const time = v.pipe(v.string(), v.isoTimestamp());
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

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
    labels: v.optional(labelsField),
    address: v.optional(described(text, "Address from which the host asked to join")),
    evidence: v.optional(
      described(
        v.object({ type: v.picklist(evidenceTypes), fields: plainMap }),
        "What the host proved about itself, in addition to its key",
      ),
    ),
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
    bus_keys: v.optional(
      described(
        v.array(v.object({ public_key: text, expires_at: time })),
        "All unexpired keys of credentials, the current one last",
      ),
    ),
    renewed_at: v.optional(described(time, "When the credentials were last renewed")),
    renewals: v.optional(described(count, "How often the credentials were renewed")),
    recovered_at: v.optional(described(time, "When the peel last recovered credentials")),
    recoveries: v.optional(described(count, "How often the peel recovered credentials")),
    rekeyed_at: v.optional(described(time, "When the peel last changed its keys")),
    previous_public_key: v.optional(described(text, "Public key of the peel before that")),
    CloneSuspected: v.optional(described(v.boolean(), "Two hosts appear to hold this identity")),
    clone_seen_at: v.optional(described(time, "When the second holder was last seen")),
    succeeded: v.optional(described(v.boolean(), "A succession took over this enrollment")),
    Suspended: v.optional(
      described(v.object({ at: time, reason: text }), "Since when the peel is kept off the bus, and why"),
    ),
    direct: v.optional(
      described(v.boolean(), "The last decision was written directly to storage, without a master"),
    ),
  }),
);
const hiddenBytes = v.optional(v.pipe(v.instance(Uint8Array), v.maxLength(64)));
/** All that is stored: the fields that are shown, and the hidden ones. */
export const storedSchema = v.object({
  ...enrollmentSchema.entries,
  direct_signature: v.optional(
    v.object({
      operator: text,
      key: text,
      signature: v.pipe(v.instance(Uint8Array), v.maxLength(64)),
    }),
  ),
  enroll_challenge: hiddenBytes,
  enroll_signature: hiddenBytes,
  rekey_proof: v.optional(
    v.object({
      busPublicKey: text,
      signedAt: text,
      signature: v.pipe(v.instance(Uint8Array), v.maxLength(64)),
    }),
  ),
  renewed_from: v.optional(text),
  left_sites: v.optional(leftSitesField),
  recent_renewals: v.optional(v.pipe(v.array(v.number()), v.maxLength(16))),
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
  labels: "labels",
  address: "address",
  evidence: "evidence",
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
  busKeys: "bus_keys",
  renewedAt: "renewed_at",
  renewals: "renewals",
  recoveredAt: "recovered_at",
  recoveries: "recoveries",
  rekeyedAt: "rekeyed_at",
  previousPublicKey: "previous_public_key",
  cloneSuspected: "CloneSuspected",
  cloneSeenAt: "clone_seen_at",
  succeeded: "succeeded",
  suspended: "Suspended",
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
  "renewedAt",
  "recoveredAt",
  "rekeyedAt",
  "cloneSeenAt",
]);

/** The record in the form of REST and the bus; absent fields are omitted. */
export function toStored(record: Enrollment): StoredEnrollment {
  const storedForm = (name: Shown) => {
    if (name === "suspended" && record.suspended !== undefined) return storedSuspension(record.suspended);
    if (name === "busKeys") return record.busKeys?.map(storedBusKey);
    const value = record[name];
    return timeFields.has(name) && value !== undefined ? rfc3339(value as number) : value;
  };
  const values: Record<string, unknown> = {};
  for (const [name, stored] of fields) {
    const value = storedForm(name);
    if (value !== undefined) values[stored] = value;
  }
  return values as unknown as StoredEnrollment;
}

const storedSuspension = ({ at, reason }: Suspension) => ({ at: rfc3339(at), reason });

function busKeyOf({ public_key, expires_at }: ReturnType<typeof storedBusKey>): BusKey {
  return { publicKey: public_key, expiresAt: Date.parse(expires_at) };
}

function storedBusKey({ publicKey, expiresAt }: BusKey) {
  return { public_key: publicKey, expires_at: rfc3339(expiresAt) };
}

/**
 * Reads the stored form, as `decodeMap` gives it. Each record of a fleet is read when a master starts, and after each
 * change by another one: this makes no list of its fields.
 *
 * @throws SvcError `internal` when it is not an enrollment record
 */
export function fromStored(stored: unknown): Enrollment {
  const parsed = v.safeParse(storedSchema, stored);
  if (!parsed.success) {
    const path = v.getDotPath(parsed.issues[0]) ?? "(root)";
    throw new SvcError("internal", `a stored enrollment record is malformed at ${path}`);
  }
  const values = parsed.output;
  const readForm = (name: Shown, key: StoredKey): unknown => {
    if (key === "Suspended" && values.Suspended !== undefined) {
      return { ...values.Suspended, at: Date.parse(values.Suspended.at) };
    }
    if (key === "bus_keys") return values.bus_keys?.map(busKeyOf);
    const value = values[key];
    return timeFields.has(name) && value !== undefined ? Date.parse(value as string) : value;
  };
  const record: Record<string, unknown> = {};
  for (const [name, key] of fields) {
    const value = readForm(name, key);
    if (value !== undefined) record[name] = value;
  }
  for (const [name, key] of hiddenFields) if (values[key] !== undefined) record[name] = values[key];
  return record as unknown as Enrollment;
}

/** A record in its stored form, by the names of its fields. */
export type StoredMap = Readonly<Record<string, unknown>>;

/** All that is stored of a record. */
function toMap(record: Enrollment): StoredMap {
  const stored: Record<string, unknown> = { ...toStored(record) };
  for (const [name, key] of hiddenFields) if (record[name] !== undefined) stored[key] = record[name];
  return stored;
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
  if (isMap(value)) return value;
  throw new SvcError("internal", "a stored enrollment record is not a map");
}

/** The trust in lists: which root the peel trusts, or that the record itself is not trusted. */
export const trustWords = ["ok", "MISMATCH!", "SUSPENDED", "-", "CLONE!", "TAMPERED"] as const;
export type Trust = (typeof trustWords)[number];

/**
 * Whether the peel trusted the CA root of this fleet; `-` when it did not report it. A suspended peel is not
 * trusted now, whatever it reported.
 */
export function trustOf(
  record: Pick<Enrollment, "trustedCaSpki" | "trustMismatch" | "cloneSuspected"> & { suspended?: unknown },
): Exclude<Trust, "TAMPERED"> {
  if (record.suspended !== undefined) return "SUSPENDED";
  if (record.cloneSuspected === true) return "CLONE!";
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
  /** Of the public key, to compare it with what the peel logs. */
  fingerprint: string;
  /** The address from which the host asked to join. */
  address?: string;
  /** The kind of what the host proved in addition to its key. */
  evidence?: EvidenceType;
  /** SPKI pin of the CA root that the peel trusted, while it is pending: an operator compares it. */
  trusted_ca_spki?: string;
}

const storedSummary = v.object({
  id: text,
  peel_id: text,
  public_key: text,
  hostname: v.optional(text, ""),
  address: v.optional(text),
  labels: v.optional(labelsField),
  left_sites: v.optional(leftSitesField),
  evidence: v.optional(v.object({ type: v.picklist(evidenceTypes) })),
  state: v.picklist(enrollmentStates),
  trusted_ca_spki: v.optional(text),
  TrustMismatch: v.optional(v.boolean()),
  created_at: v.pipe(v.string(), v.isoTimestamp()),
  creds_expires_at: v.optional(time),
  Suspended: v.optional(v.unknown()),
  CloneSuspected: v.optional(v.boolean()),
  bus_public_key: v.optional(text),
  bus_keys: v.optional(v.array(v.object({ public_key: text }))),
});

/** The summary, and what a master monitors in addition. */
export type KnownEnrollment = EnrollmentSummary & {
  labels?: Labels;
  leftSites?: LeftSites;
  /** Milliseconds since the Unix epoch. */
  credsExpiresAt?: number;
  /** Keys of the bus with which the peel may connect. */
  busKeys: readonly string[];
  /** The enrolled key. */
  publicKey: string;
  /** Two hosts appear to hold this identity, whatever else lists show. */
  cloneSuspected: boolean;
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
  const {
    public_key,
    trusted_ca_spki,
    TrustMismatch,
    creds_expires_at,
    Suspended: suspended,
    CloneSuspected,
    bus_public_key,
    bus_keys,
    address,
    labels,
    left_sites,
    evidence,
    ...shown
  } = parsed.output;
  const current = bus_public_key === undefined ? [] : [bus_public_key];
  const attested = defined({ trustedCaSpki: trusted_ca_spki });
  const marks = defined({ trustMismatch: TrustMismatch, cloneSuspected: CloneSuspected });
  return {
    ...shown,
    ...defined({ address, labels, leftSites: left_sites, evidence: evidence?.type }),
    ...comparedPin(shown.state, trusted_ca_spki),
    trust: trustOf({ ...attested, ...marks, suspended }),
    fingerprint: keyFingerprint(public_key),
    publicKey: public_key,
    cloneSuspected: CloneSuspected === true,
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
    fingerprint: keyFingerprint(record.publicKey),
    ...defined({ address: record.address, evidence: record.evidence?.type }),
    ...comparedPin(record.state, record.trustedCaSpki),
  };
}

/** Only for those that wait: masters keep the summaries of a whole fleet in memory. */
const comparedPin = (state: EnrollmentState, pin: string | undefined): { trusted_ca_spki?: string } =>
  state === "pending" ? defined({ trusted_ca_spki: pin }) : {};
