import type { Clock } from "../../../base/clock.ts";
import { defined } from "../../../base/defined.ts";
import { SvcError } from "../../../base/errors.ts";
import { newId, type Random } from "../../../base/id.ts";
import type { Log } from "../../../base/log.ts";
import { conflict, retryOnConflict } from "../../../base/retry-on-conflict.ts";
import { verifySignature } from "../../../identity/mod.ts";
import { attestationMessage, enrollmentMessage } from "../../../wire/enrollment-messages.ts";
import {
  type Enrollment,
  type EnrollmentEvent,
  type Evidence,
  formerFrom,
  liveStates,
  transition,
} from "../record/mod.ts";
import { applyEvent, type Enrollments, findByPeel, insertEnrollment, lastVouched } from "../store/mod.ts";
import { admissionOf, admitted, eventOfAdmission, isLetIn } from "./admit.ts";
import { type Challenges, consumeChallenge } from "./challenge.ts";
import { type NoteCopyDeps, noteCopy } from "./note-copy.ts";
import type { PendingTable } from "./pending-table.ts";
import { provenEvidence, type VerifyEvidence, withEvidence } from "./proven.ts";
import type { Submission } from "./validate.ts";
import type { Admission, WayIn } from "./way-in.ts";

export interface EnrollDeps {
  enrollments: Enrollments;
  challenges: Challenges;
  /**
   * Whether this master knows of an enrollment of a peel. What it does not know yet is found when the new one is
   * stored.
   */
  isKnown?(peelId: string): boolean;
  clock: Clock;
  random: Random;
  /**
   * SPKI pins of this fleet's own CA roots: two while the root is rotated, none when the master does not know it
   * (external mode).
   */
  readonly ownCaSpkis: readonly string[];
  /** The places for enrollments that wait for a decision. */
  pending: PendingTable;
  /** What may decide in place of an operator, in this order. */
  waysIn: readonly WayIn[];
  /** Absent when this master is not configured for any evidence. */
  verifyEvidence?: VerifyEvidence;
  /**
   * Records a decision that no operator makes, before it is stored.
   *
   * @returns called once with how it ended
   * @throws SvcError `unavailable` when it cannot be recorded: then nothing is decided
   */
  begin(decision: Decision): Promise<(outcome: "done" | "failed") => Promise<void>>;
  /** Where the copy of a host is noted; absent in tests of other parts. */
  copies?: NoteCopyDeps;
  metrics: { keyMismatch(): void };
  log: Log;
}

/** A decision of a way in, as the audit records it. */
export interface Decision {
  action: "enrollments.approve" | "enrollments.reject";
  /** `token:<id>` */
  by: string;
  enrollment: string;
  /** Encoded. */
  peel: string;
}

export interface EnrollResult {
  record: Enrollment;
  /** Whether this call created the record; otherwise it waited already. */
  created: boolean;
  /** The existing record has another public key than this submission. */
  keyMismatch: boolean;
}

/**
 * Verifies a submission, lets the ways in decide, and creates the enrollment, in `pending` when none of them did. A
 * pending one is decided in place.
 *
 * @param address of the other end of the connection, if it is known
 * @throws SvcError `unauthorized` for a bad challenge, signature, token or evidence, `bad_request` for another
 *   binding, `forbidden` when a way in refuses the host, `conflict` when the peel has a live enrollment,
 *   `unavailable` when too many are pending
 */
export async function takeSubmission(
  deps: EnrollDeps,
  submission: Submission,
  address?: string,
): Promise<EnrollResult> {
  const { peelId, publicKey, curvePublicKey } = submission;
  const challenge = await consumeChallenge(deps, submission.challengeId, { peelId, publicKey });
  if (
    !verifySignature("user", publicKey, enrollmentMessage(challenge, curvePublicKey), submission.signature)
  ) {
    throw new SvcError("unauthorized", "signature verification failed");
  }
  verifyAttestation(submission, challenge);
  if (deps.copies !== undefined) await noteCopy(deps.copies, submission, challenge);
  const evidence = await provenEvidence(deps, submission, challenge);
  deps.log.info("enrollment.verify.success", { peel_id: peelId, evidence: evidence?.type });

  let isNew = deps.isKnown?.(peelId) === false;
  const attempt = async () => {
    const found = isNew ? undefined : await findByPeel(deps.enrollments, peelId);
    isNew = false;
    const current = found?.current?.record;
    if (current?.state === "pending") {
      return decidePending(deps, current, { submission, challenge, evidence });
    }
    if (current !== undefined && isLetIn(current) && current.publicKey === publicKey) {
      // The answer was lost, and this host proved that it is the one that was admitted.
      return { record: current, created: false, keyMismatch: false };
    }
    if (current !== undefined && liveStates.has(current.state)) {
      // The client has not proved that it is this peel, so it must not learn the ID or the state.
      throw takenError();
    }
    const ended = current ?? (found && (await lastGood(deps, found.id)));
    // No longer valid, and live when a master last wrote it.
    if (found !== undefined && ended !== undefined && liveStates.has(ended.state)) {
      deps.log.warn("enrollment refused: the record of this peel was changed by others", {
        enrollment_id: found.id,
        peel_id: peelId,
      });
      throw takenError();
    }
    const place = await deps.pending.take(peelId);
    let stored: Enrollment | undefined;
    try {
      const before = { ...defined({ address, evidence }), ...formerFrom(ended) };
      const record = newRecord(deps, submission, challenge, before);
      const admission = await admissionOf(deps.waysIn, { submission, record, challenge });
      const made = admitted(record, admission, deps.clock.now());
      stored = await recorded(deps, made, admission, () =>
        storeNew(deps, { record, made, admission, indexRevision: found?.indexRevision }),
      );
    } finally {
      place.giveBack(stored?.id);
    }
    return stored === undefined ? conflict : { record: stored, created: true, keyMismatch: false };
  };
  return retryOnConflict(attempt, { exhausted: "other requests are enrolling this peel_id: try again" });
}

/**
 * Stores a record as an admission made it: a decision is in the audit before, and what it took is given back when
 * the record is not stored.
 *
 * @param store returns `undefined` when a race was lost
 */
async function recorded(
  deps: Pick<EnrollDeps, "begin" | "log">,
  made: Enrollment,
  admission: Admission | undefined,
  store: () => Promise<Enrollment | undefined>,
): Promise<Enrollment | undefined> {
  let stored: Enrollment | undefined;
  const isDecided = made.state !== "pending";
  try {
    const action = made.state === "rejected" ? "enrollments.reject" : "enrollments.approve";
    const { id: enrollment, peelId: peel, decidedBy: by = "" } = made;
    const end = isDecided ? await deps.begin({ action, by, enrollment, peel }) : undefined;
    try {
      if (isDecided) admission?.assertHeld?.();
      stored = await store();
    } finally {
      await end?.(stored === undefined ? "failed" : "done");
    }
  } finally {
    // A use that admits no host is not used.
    if (stored?.state !== "approved") await admission?.giveBack?.();
  }
  if (stored !== undefined && isDecided) {
    const { id: enrollment_id, peelId: peel_id, decidedBy: operator } = stored;
    deps.log.info(`enrollment ${stored.state}`, { enrollment_id, peel_id, operator });
  }
  return stored;
}

/**
 * Stores a new record. One that is decided about is stored pending before: the record of a request that loses the
 * race of two is removed again, and masters would take the removal of a decided one for a decision that was lost.
 *
 * @returns `undefined` when a race was lost
 */
async function storeNew(
  deps: Pick<EnrollDeps, "enrollments" | "clock">,
  { record, made, admission, indexRevision }: NewRecord,
): Promise<Enrollment | undefined> {
  const isDecided = made.state !== "pending";
  const first = isDecided ? record : made;
  const inserted = await insertEnrollment(deps.enrollments, first, indexRevision);
  const event = admission === undefined || !isDecided ? undefined : eventOfAdmission(record, admission);
  if (inserted === undefined || event === undefined) return inserted?.record;
  return decideUnlessDecided(deps, record.id, event);
}

interface NewRecord {
  record: Enrollment;
  /** The record as the admission makes it. */
  made: Enrollment;
  admission: Admission | undefined;
  indexRevision: number | undefined;
}

/** @returns `undefined` when an operator was first */
async function decideUnlessDecided(
  deps: Pick<EnrollDeps, "enrollments" | "clock">,
  id: string,
  event: EnrollmentEvent,
): Promise<Enrollment | undefined> {
  try {
    return await applyEvent(deps, id, event);
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.kind === "invalid_transition") return undefined;
    throw thrown;
  }
}

/** What a host that asks has proved. */
interface Proof {
  submission: Submission;
  challenge: Uint8Array;
  evidence: Evidence | undefined;
}

/** A host that asks again: it may have a way in now. A host with another key gets nothing. */
async function decidePending(
  deps: EnrollDeps,
  found: Enrollment,
  { submission, challenge, evidence }: Proof,
): Promise<EnrollResult | typeof conflict> {
  if (found.publicKey !== submission.publicKey) {
    deps.metrics.keyMismatch();
    deps.log.warn("enrollment repeated with another key", {
      enrollment_id: found.id,
      peel_id: found.peelId,
    });
    return { record: found, created: false, keyMismatch: true };
  }
  const record = await withEvidence(deps, found, evidence);
  const admission = await admissionOf(deps.waysIn, { submission, record, challenge, waits: true });
  const event = admission === undefined ? undefined : eventOfAdmission(record, admission);
  if (event === undefined) {
    await admission?.giveBack?.();
    return { record, created: false, keyMismatch: false };
  }
  const next = transition(record, event, deps.clock.now());
  const stored = await recorded(deps, next, admission, () => decideUnlessDecided(deps, record.id, event));
  return stored === undefined ? conflict : { record: stored, created: false, keyMismatch: false };
}

function takenError(): SvcError {
  return new SvcError(
    "conflict",
    "peel_id already has an active enrollment: an operator must revoke it first",
  );
}

/** A record that is no longer valid, as a master last wrote it. */
async function lastGood({ enrollments }: EnrollDeps, id: string): Promise<Enrollment | undefined> {
  if (enrollments.vouchers === undefined) return undefined;
  return (await lastVouched(enrollments, enrollments.vouchers, id))?.record;
}

function verifyAttestation(submission: Submission, challenge: Uint8Array): void {
  const { attestation, publicKey } = submission;
  if (attestation === undefined) return;
  const message = attestationMessage(challenge, attestation.caSpki);
  if (!verifySignature("user", publicKey, message, attestation.signatureBytes)) {
    throw new SvcError("unauthorized", "trust_signature verification failed");
  }
}

function newRecord(
  deps: EnrollDeps,
  submission: Submission,
  challenge: Uint8Array,
  seen: Pick<Enrollment, "address" | "evidence" | "former">,
): Enrollment {
  const now = deps.clock.now();
  const { attestation } = submission;
  return {
    id: newId("enr", now, deps.random),
    peelId: submission.peelId,
    publicKey: submission.publicKey,
    curvePublicKey: submission.curvePublicKey,
    ...defined({ hostname: submission.hostname, metadata: submission.metadata }),
    ...seen,
    state: "pending",
    ...(attestation === undefined
      ? {}
      : {
          trustedCaSpki: attestation.caSpki,
          trustSignature: attestation.signature,
          // Without its own root a master cannot verify the attestation, and does not claim a match.
          trustMismatch: deps.ownCaSpkis.length > 0 && !deps.ownCaSpkis.includes(attestation.caSpki),
        }),
    enrollChallenge: challenge,
    enrollSignature: submission.signature,
    createdAt: now,
    updatedAt: now,
  };
}
