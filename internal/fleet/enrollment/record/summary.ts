import * as v from "valibot";
import { rfc3339 } from "../../../base/clock.ts";
import { defined } from "../../../base/defined.ts";
import { record, someOf } from "../../../base/record.ts";
import { list, optional, part } from "../../../base/record-kinds.ts";
import { described, timestamp, titled } from "../../../base/schema.ts";
import { evidenceTypes } from "../../../identity/evidence/mod.ts";
import { keyFingerprint } from "../../../identity/mod.ts";
import { type Labels, labelsField } from "./labels.ts";
import type { LeftSites } from "./left-sites.ts";
import { type Enrollment, enrollmentFields, enrollmentStates, type StoredMap } from "./record.ts";

/** The trust in lists: which root the peel trusts, or that the record itself is not trusted. */
export const trustWords = ["ok", "MISMATCH!", "SUSPENDED", "-", "CLONE!", "TAMPERED"] as const;
export type Trust = (typeof trustWords)[number];

export const enrollmentSummary = titled(
  "EnrollmentSummary",
  v.object({
    id: v.string(),
    peel_id: described(v.string(), "Encoded peel id"),
    hostname: described(v.string(), "Empty when the peel did not report it"),
    state: v.picklist(enrollmentStates),
    created_at: timestamp,
    trust: described(
      v.picklist(trustWords),
      "Whether the peel trusted the CA root of this fleet; `-` when it did not report it, `SUSPENDED` while it is kept off the bus, `CLONE!` when two hosts appear to hold its identity. No master made a `TAMPERED` record, and masters ignore it.",
    ),
    fingerprint: described(
      v.string(),
      "Short fingerprint of the public key, which the peel logs as well; `-` when the key is malformed",
    ),
    address: v.exactOptional(described(v.string(), "Address from which the host asked to join")),
    evidence: v.exactOptional(
      described(v.picklist(evidenceTypes), "What the host proved about itself, in addition to its key"),
    ),
    proved_by: v.exactOptional(
      described(v.string(), "What the host proved itself with before it waited: `token:<id>`"),
    ),
    contested: v.exactOptional(
      v.pipe(
        v.literal(true),
        v.metadata({
          type: "boolean",
          description: "Another host waits under the same peel id, with another key",
        }),
      ),
    ),
    trusted_ca_spki: v.exactOptional(
      described(v.string(), "SPKI pin of the CA root that the peel trusted; only while it is pending"),
    ),
    former_labels: v.exactOptional(
      described(labelsField, "What the enrollment before had, and this one gets when it is approved"),
    ),
  }),
);
/** The fields of an enrollment in lists. */
export type EnrollmentSummary = v.InferOutput<typeof enrollmentSummary>;

const isOpen = true;
const listed = record(
  "enrollment record",
  {
    ...someOf(enrollmentFields, ["id", "peelId", "publicKey", "hostname", "address", "labels", "leftSites"]),
    ...someOf(enrollmentFields, ["former"]),
    ...someOf(enrollmentFields, ["state", "trustedCaSpki", "trustMismatch", "credsExpiresAt"]),
    ...someOf(enrollmentFields, ["cloneSuspected", "copiedAt", "busPublicKey", "provedBy", "rivalOf"]),
    createdAt: ["created_at", timestamp],
    // Of these no more than is listed, since they take longer than all others together.
    evidence: optional(part({ type: v.picklist(evidenceTypes) }, { isOpen })),
    suspended: ["Suspended", optional(v.custom<object>(() => true))],
    busKeys: ["bus_keys", optional(list(part({ public_key: enrollmentFields.id }, { isOpen })))],
  },
  { isOpen },
);
type Listed = ReturnType<typeof listed.parse>;

/**
 * Whether the peel trusted the CA root of this fleet; `-` when it did not report it. A suspended peel is not
 * trusted now, whatever it reported.
 */
export function trustOf(
  record: Pick<Enrollment, "trustedCaSpki" | "trustMismatch" | "cloneSuspected"> & { suspended?: object },
): Exclude<Trust, "TAMPERED"> {
  if (record.suspended !== undefined) return "SUSPENDED";
  if (record.cloneSuspected === true) return "CLONE!";
  if (record.trustedCaSpki === undefined) return "-";
  return record.trustMismatch === true ? "MISMATCH!" : "ok";
}

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
  /** When a copy of its host asked to join, milliseconds since the Unix epoch. */
  copiedAt?: number;
  /** The enrollment that waited when it was made, while it waits as well. */
  rivalOf?: string;
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
  const found = listed.parse(map);
  const { labels, leftSites, credsExpiresAt, copiedAt, publicKey, rivalOf, cloneSuspected = false } = found;
  const current = found.busPublicKey === undefined ? [] : [found.busPublicKey];
  return {
    ...summaryOf(found),
    ...defined({ labels, leftSites, credsExpiresAt, copiedAt, rivalOf }),
    ...{ publicKey, cloneSuspected },
    busKeys: [...new Set([...current, ...(found.busKeys ?? []).map((key) => key.public_key)])],
  };
}

export const summarize = ({ createdAt, ...record }: Enrollment): EnrollmentSummary =>
  summaryOf({ ...record, createdAt: rfc3339(createdAt) });

function summaryOf(record: Omit<Listed, "busKeys">): EnrollmentSummary {
  const { state, trustedCaSpki } = record;
  return {
    id: record.id,
    peel_id: record.peelId,
    hostname: record.hostname ?? "",
    state,
    created_at: record.createdAt,
    trust: trustOf(record),
    fingerprint: keyFingerprint(record.publicKey),
    ...defined({
      address: record.address,
      evidence: record.evidence?.type,
      proved_by: state === "pending" ? record.provedBy : undefined,
      // Only for those that wait: masters keep the summaries of a whole fleet in memory.
      trusted_ca_spki: state === "pending" ? trustedCaSpki : undefined,
      former_labels: state === "pending" ? record.former?.labels : undefined,
    }),
  };
}
