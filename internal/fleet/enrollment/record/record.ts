import * as v from "valibot";
import { SvcError } from "../../../base/errors.ts";
import { decode } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { type RecordOf, record } from "../../../base/record.ts";
import { hidden, list, optional, part, time } from "../../../base/record-kinds.ts";
import { plainMap, titled } from "../../../base/schema.ts";
import { evidenceTypes } from "../../../identity/evidence/mod.ts";
import { labelsField } from "./labels.ts";
import { leftSitesField } from "./left-sites.ts";

export const enrollmentStates = ["pending", "approved", "rejected", "issued", "active", "revoked"] as const;
export type EnrollmentState = (typeof enrollmentStates)[number];

// Fields that are not known are ignored: a later version may add some, and the MACs cover them as well.
const isOpen = true;
const text = v.pipe(v.string(), v.maxLength(4096));
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const max64Bytes: v.GenericSchema<Uint8Array> = v.pipe(v.instance(Uint8Array), v.maxLength(64));

const evidence = part({ type: v.picklist(evidenceTypes), fields: plainMap }, { isOpen });
/** What a host proved about itself, in addition to its key, and what the proof names: the subject of a certificate. */
export type Evidence = v.InferOutput<typeof evidence.read>;

const busKey = part({ publicKey: ["public_key", text], expiresAt: ["expires_at", time] }, { isOpen });
/** A key with which a peel may connect to the bus, `U…`, and when its JWT expires. */
export type BusKey = v.InferOutput<typeof busKey.read>;

const rekeyProof = part({ busPublicKey: text, signedAt: text, signature: max64Bytes }, { isOpen });
/** The fields of a change of keys that the new key signed, unless the record has them anyway. */
export type RekeyProof = v.InferOutput<typeof rekeyProof.read>;

/** The fields of an enrollment by their names in the code, as they are stored, and what people read of them. */
export const enrollmentFields = {
  id: text,
  peelId: ["peel_id", text, "Encoded peel id"],
  publicKey: ["public_key", text, "Ed25519 public key of the peel"],
  curvePublicKey: ["curve_public_key", text, "X25519 public key of the peel"],
  hostname: ["hostname", optional(text), "Name of the host, as reported by the peel"],
  metadata: ["metadata", optional(plainMap), "Other data that the peel reported"],
  /** What the fleet says of this peel; a new enrollment of the same host starts without. */
  labels: optional(labelsField),
  former: [
    "former",
    optional(part({ enrollment: text, labels: labelsField }, { isOpen })),
    "The enrollment of this peel before it, and its labels, which it gets when it is approved",
  ],
  address: ["address", optional(text), "Address from which the host asked to join"],
  evidence: ["evidence", optional(evidence), "What the host proved about itself, in addition to its key"],
  state: v.picklist(enrollmentStates),
  provedBy: ["proved_by", optional(text), "What the host proved itself with before it waited: a token"],
  rivalOf: [
    "rival_of",
    optional(text),
    "Id of the enrollment with another key that waited when this host proved itself",
  ],
  decidedBy: ["DecidedBy", optional(text), "Operator who made the last decision"],
  rejectReason: ["RejectReason", optional(text)],
  revokeReason: ["RevokeReason", optional(text)],
  trustedCaSpki: ["trusted_ca_spki", optional(text), "SPKI pin of the CA root that the peel trusted"],
  trustSignature: ["trust_signature", optional(text)],
  /** Absent without an attestation. */
  trustMismatch: ["TrustMismatch", optional(v.boolean()), "That root is not the root of this fleet"],
  createdAt: ["created_at", time],
  updatedAt: ["updated_at", time],
  decidedAt: ["decided_at", optional(time)],
  issuedAt: ["issued_at", optional(time)],
  activatedAt: ["activated_at", optional(time)],
  revokedAt: ["revoked_at", optional(time)],
  credsExpiresAt: ["creds_expires_at", optional(time), "When the credentials expire"],
  /** The `U…` key of the JWT that the peel uses now, the last one of `busKeys`. */
  busPublicKey: ["bus_public_key", optional(text), "Public key of the credentials"],
  /** There exactly where `busPublicKey` is: transitions set both, and a voucher covers both. */
  busKeys: ["bus_keys", optional(list(busKey)), "All unexpired keys of credentials, the current one last"],
  renewedAt: ["renewed_at", optional(time), "When the credentials were last renewed"],
  renewals: ["renewals", optional(count), "How often the credentials were renewed"],
  recoveredAt: ["recovered_at", optional(time), "When the peel last recovered credentials"],
  recoveries: ["recoveries", optional(count), "How often the peel recovered credentials"],
  rekeyedAt: ["rekeyed_at", optional(time), "When the peel last changed its keys"],
  previousPublicKey: ["previous_public_key", optional(text), "Public key of the peel before that"],
  /** Someone renewed with a key that is not the current one. */
  cloneSuspected: ["CloneSuspected", optional(v.boolean()), "Two hosts appear to hold this identity"],
  cloneSeenAt: ["clone_seen_at", optional(time), "When the second holder was last seen"],
  copiedAt: ["copied_at", optional(time), "When a copy of its host last asked to join with a key of its own"],
  /** The peel gets its credentials by recovery. */
  succeeded: ["succeeded", optional(v.boolean()), "A succession took over this enrollment"],
  /** Its state stays. */
  suspended: [
    "Suspended",
    optional(part({ at: time, reason: text }, { isOpen })),
    "Since when the peel is kept off the bus, and why",
  ],
  direct: [
    "direct",
    optional(v.boolean()),
    "The last decision was written directly to storage, without a master",
  ],
  /** The operator who made it, if one signed it. */
  directSignature: [
    "direct_signature",
    hidden(optional(part({ operator: text, key: text, signature: max64Bytes }, { isOpen }))),
  ],
  /** What the peel signed when it enrolled, and its signature: they bind the curve key to the peel's key. */
  enrollChallenge: ["enroll_challenge", hidden(optional(max64Bytes))],
  enrollSignature: ["enroll_signature", hidden(optional(max64Bytes))],
  /** What the peel signed with its new key when it last changed its keys: it binds the new curve key. */
  rekeyProof: ["rekey_proof", hidden(optional(rekeyProof))],
  /** The key that was current before `busPublicKey`: a repeated renewal names it. */
  renewedFrom: ["renewed_from", hidden(optional(text))],
  /** Sites whose label was taken off it while its credentials may have named them, oldest first. */
  leftSites: ["left_sites", hidden(optional(leftSitesField))],
  /** When the peel last renewed its credentials, oldest first; the rate limit counts them. */
  recentRenewals: [
    "recent_renewals",
    hidden(optional(v.pipe(v.array(v.number()), v.maxLength(16), v.readonly()))),
  ],
  /** MACs of masters over what does not change by decisions, and over the decisions. */
  identityVoucher: ["identity_voucher", hidden(optional(max64Bytes))],
  decisionVoucher: ["decision_voucher", hidden(optional(max64Bytes))],
} as const;

/** One enrollment of one peel. Times are milliseconds since the Unix epoch. */
export type Enrollment = RecordOf<typeof enrollmentFields>;

const codec = record("enrollment record", enrollmentFields, { isOpen });
/** The form of the values of the bucket `enrollments`. A malformed one is an SvcError `internal`. */
export const { encode: encodeRecord, decode: decodeRecord, entries: storedEntries } = codec;
/** Reads the stored form, as `decodeMap` gives it. @throws SvcError `internal` */
export const fromStored = codec.parse;
/** What REST and the bus show of a record. */
export const toStored = codec.show;
export const enrollmentSchema = titled("Enrollment", v.object(codec.shownEntries));

/** A record in its stored form, by the names of its fields. */
export type StoredMap = Readonly<Record<string, unknown>>;

/** The stored form without reading it as a record. @throws SvcError `internal` when it is not a map */
export function decodeMap(bytes: Uint8Array): StoredMap {
  const value = decode(bytes);
  if (isMap(value)) return value;
  throw new SvcError("internal", "a stored enrollment record is not a map");
}
