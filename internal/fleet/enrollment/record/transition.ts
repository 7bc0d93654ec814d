import { defined } from "../../../base/defined.ts";
import { SvcError } from "../../../base/errors.ts";
import { displayPeelId } from "../../../base/names/peel-id.ts";
import { withBusKey } from "./bus-keys.ts";
import { labelsOnApproval } from "./former.ts";
import { isSameSet, type Labels, labelsProblem } from "./labels.ts";
import { leavingSites } from "./left-sites.ts";
import type { BusKey, Enrollment, EnrollmentState, Evidence, RekeyProof } from "./record.ts";
import { recentRenewals } from "./renewal-limit.ts";

/** What can happen to an enrollment record after it was created. */
export type EnrollmentEvent =
  | { type: "approve"; operator: string; force: boolean; labels?: Labels; dropLabels?: boolean }
  | { type: "reject"; operator: string; reason?: string }
  | { type: "issue"; busPublicKey: string; credsExpiresAt: number }
  | { type: "activate" }
  | { type: "revoke"; operator: string; reason?: string }
  | { type: "suspend"; operator: string; reason: string }
  | { type: "resume"; operator: string }
  | { type: "renew"; key: BusKey }
  | { type: "recover"; key: BusKey; revokePrevious: boolean }
  | { type: "rekey"; key: BusKey; publicKey: string; curvePublicKey: string; proof: RekeyProof }
  | { type: "suspect-clone" }
  | { type: "clear-clone"; operator: string }
  /** A copy of its host asked to join with a key of its own. */
  | { type: "note-copy" }
  /** A host that waits proved more about itself. */
  | { type: "prove"; evidence: Evidence }
  /** A way in leaves the host to an operator. `by`: it proved itself with this. */
  | { type: "hold"; by?: string; labels?: Labels }
  /** It is the only one that waits under its peel id now. */
  | { type: "promote" }
  /** The whole set. It decides nothing. */
  | { type: "label"; labels: Labels };

/** The transitions of the specification, section "States and transitions". All others are refused. */
export const transitions: Record<
  EnrollmentState,
  Partial<Record<EnrollmentEvent["type"], EnrollmentState>>
> = {
  pending: {
    ...{ approve: "approved", reject: "rejected", prove: "pending", label: "pending" },
    ...{ hold: "pending", promote: "pending" },
  },
  approved: { issue: "issued", revoke: "revoked", recover: "issued", label: "approved" },
  issued: { activate: "active", revoke: "revoked", ...whileMember("issued") },
  active: { revoke: "revoked", ...whileMember("active") },
  rejected: {},
  revoked: {},
};

/** What keeps the state of a member. */
function whileMember(state: EnrollmentState) {
  return {
    ...{ suspend: state, resume: state, renew: state, recover: state, rekey: state },
    ...{ "suspect-clone": state, "clear-clone": state, "note-copy": state, label: state },
  };
}

/**
 * Whether a record may recover credentials although it is only `approved`: a succession took it over, and its peel
 * has credentials of the fleet before.
 */
export function awaitsRecovery({ state, succeeded }: Pick<Enrollment, "state" | "succeeded">): boolean {
  return state === "approved" && succeeded === true;
}

/** States in which a record keeps its peel id: a new enrollment of that peel is refused. */
export const liveStates: ReadonlySet<EnrollmentState> = new Set(["pending", "approved", "issued", "active"]);

/** States in which a status stream ends (specification, "Status stream"): everything but `pending`. */
export const isStreamTerminal = (state: EnrollmentState): boolean => state !== "pending";

/** States in which a peel is a member of the fleet and may be a target. */
export const memberStates: ReadonlySet<EnrollmentState> = new Set(["issued", "active"]);

/**
 * The record after an event. States change only here.
 *
 * @param now milliseconds since the Unix epoch
 * @throws SvcError `invalid_transition` for an event that is not allowed in this state,
 *   `trust_mismatch` for an approval of a mismatch without force
 */
export function transition(record: Enrollment, event: EnrollmentEvent, now: number): Enrollment {
  const state = transitions[record.state][event.type];
  // Any other approved peel has no credentials yet that it could have lost.
  const isEarly = event.type === "recover" && record.state === "approved" && !awaitsRecovery(record);
  if (state === undefined || isEarly) throw refused(record, event.type, `it is ${record.state}`);
  // It says how the last decision was made.
  const { direct: _, directSignature: __, ...kept } = record;
  // Always later than before, whatever the clocks of two masters show: it orders versions of one state.
  const next: Enrollment = { ...kept, state, updatedAt: Math.max(now, record.updatedAt + 1) };
  switch (event.type) {
    case "approve":
      assertTrusted(record, event.force);
      assertAlone(record);
      return { ...approved(withoutFormer(next), event, now), ...labelsOfApproved(record, event) };
    case "reject":
      return { ...decided(next, event, now), ...(event.reason ? { rejectReason: event.reason } : {}) };
    case "issue": {
      const { busPublicKey, credsExpiresAt } = event;
      const busKeys = [{ publicKey: busPublicKey, expiresAt: credsExpiresAt }];
      return { ...next, issuedAt: now, busPublicKey, credsExpiresAt, busKeys };
    }
    case "activate":
      return { ...next, activatedAt: now };
    case "revoke":
      return {
        ...withoutSuspension(next),
        // All of them are on the list of revocations.
        ...(record.busKeys === undefined ? {} : { busKeys: [] }),
        decidedBy: event.operator,
        revokedAt: now,
        ...(event.reason ? { revokeReason: event.reason } : {}),
      };
    case "suspend": {
      // The first reason stays: what follows is said of a peel that is off the bus already.
      const { suspended = { at: now, reason: event.reason } } = record;
      return { ...next, decidedBy: event.operator, suspended };
    }
    case "resume":
      if (record.suspended === undefined) throw refused(record, "resume", "it is not suspended");
      return { ...withoutSuspension(next), decidedBy: event.operator };
    case "renew":
      refuseSuspended(record);
      return renewed(next, event.key, now);
    case "recover":
      refuseSuspended(record);
      return recovered(record, next, event, now);
    case "rekey":
      refuseSuspended(record);
      return rekeyed(record, next, event, now);
    case "suspect-clone":
      return { ...next, cloneSuspected: true, cloneSeenAt: now };
    case "clear-clone": {
      const { cloneSuspected, copiedAt, ...cleared } = next;
      if (cloneSuspected === true || copiedAt !== undefined) return { ...cleared, decidedBy: event.operator };
      throw refused(record, "clear the clone mark of", "no clone is suspected, and no copy asked to join");
    }
    case "note-copy":
      return { ...next, copiedAt: now };
    case "prove":
      return { ...next, evidence: event.evidence };
    case "hold": {
      const { labels = {}, ...unlabelled } = next;
      return { ...unlabelled, ...labelled(event.labels ?? labels), ...defined({ provedBy: event.by }) };
    }
    case "promote": {
      const { rivalOf: _, ...alone } = next;
      return alone;
    }
    case "label": {
      const { labels: _, leftSites: __, ...unlabelled } = next;
      return { ...unlabelled, ...labelled(event.labels), ...leavingSites(record, event.labels, now) };
    }
  }
}

type EventOf<Type extends EnrollmentEvent["type"]> = EnrollmentEvent & { type: Type };

function refused({ id, peelId }: Enrollment, what: string, why: string): SvcError {
  const message = `cannot ${what} the enrollment ${id} of ${displayPeelId(peelId)}: ${why}`;
  return new SvcError("invalid_transition", message);
}

/** @throws SvcError `trust_mismatch` */
function assertTrusted({ peelId, trustMismatch }: Enrollment, force: boolean): void {
  if (trustMismatch !== true || force) return;
  throw new SvcError(
    "trust_mismatch",
    `the peel ${displayPeelId(peelId)} trusted another CA root than this fleet's: find out the reason before you approve it`,
  );
}

/**
 * Two enrollments of one peel id would be members: the other one has to go first.
 *
 * @throws SvcError `invalid_transition`
 */
function assertAlone(record: Enrollment): void {
  if (record.rivalOf === undefined) return;
  throw refused(record, "approve", `it waits next to ${record.rivalOf}, which has another key`);
}

/** The proof that admitted a host is named as what decided. */
function approved(next: Enrollment, event: { operator: string }, now: number): Enrollment {
  const { provedBy, ...rest } = decided(next, event, now);
  return provedBy === undefined || provedBy === event.operator ? rest : { ...rest, provedBy };
}

const decided = (next: Enrollment, { operator }: { operator: string }, now: number): Enrollment => ({
  ...next,
  decidedBy: operator,
  decidedAt: now,
});

function recovered(
  before: Enrollment,
  next: Enrollment,
  { key, revokePrevious }: EventOf<"recover">,
  now: number,
): Enrollment {
  const { succeeded: _, ...rest } = withKey(next, key, now, revokePrevious);
  return {
    ...rest,
    ...(before.state === "approved" ? { issuedAt: now } : {}),
    recoveredAt: now,
    recoveries: (before.recoveries ?? 0) + 1,
  };
}

function rekeyed(
  before: Enrollment,
  next: Enrollment,
  { key, publicKey, curvePublicKey, proof }: EventOf<"rekey">,
  now: number,
): Enrollment {
  const { enrollChallenge: _, enrollSignature: __, ...rest } = renewed(next, key, now);
  const previousPublicKey = before.publicKey;
  return { ...rest, publicKey, curvePublicKey, previousPublicKey, rekeyedAt: now, rekeyProof: proof };
}

/** @throws SvcError `invalid_transition` for more labels than a peel may have */
function labelsOfApproved(
  record: Enrollment,
  { labels = {}, dropLabels = false }: EventOf<"approve">,
): Pick<Enrollment, "labels"> {
  const own = isSameSet(labels, {}) ? record.labels : labels;
  const all = dropLabels ? (own ?? {}) : labelsOnApproval(record, own);
  const problem = labelsProblem(all);
  if (problem === undefined) return labelled(all);
  throw refused(record, "approve", `its labels, with those of the enrollment before it, ${problem}`);
}

function withoutFormer({ former: _, labels: __, ...rest }: Enrollment): Enrollment {
  return rest;
}

/** A record without labels has no field for them. */
function labelled(labels: Labels): Pick<Enrollment, "labels"> {
  return Object.keys(labels).length === 0 ? {} : { labels };
}

/** The record with credentials of a new key, which the peel asked for on the bus. */
function renewed(record: Enrollment, key: BusKey, now: number): Enrollment {
  return {
    ...withKey(record, key, now, false),
    renewedAt: now,
    renewals: (record.renewals ?? 0) + 1,
    recentRenewals: recentRenewals(record, now),
  };
}

function withKey(record: Enrollment, key: BusKey, now: number, revokePrevious: boolean): Enrollment {
  return {
    ...record,
    busPublicKey: key.publicKey,
    credsExpiresAt: key.expiresAt,
    busKeys: withBusKey(record, key, { now, revokePrevious }).busKeys,
    ...defined({ renewedFrom: record.busPublicKey }),
  };
}

/** New credentials would take a suspended peel back on the bus. */
function refuseSuspended({ id, peelId, suspended }: Enrollment): void {
  if (suspended === undefined) return;
  throw new SvcError(
    "forbidden",
    `the enrollment ${id} of ${displayPeelId(peelId)} is suspended: svc enroll resume ends that`,
  );
}

function withoutSuspension({ suspended: _, ...rest }: Enrollment): Enrollment {
  return rest;
}
