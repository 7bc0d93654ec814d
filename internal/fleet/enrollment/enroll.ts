import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { newId, type Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { Bucket } from "../../bus/mod.ts";
import { verifySignature } from "../../identity/mod.ts";
import { consumeChallenge } from "./challenge.ts";
import { lastVouched } from "./last-vouched.ts";
import { attestationMessage, enrollmentMessage } from "./messages.ts";
import type { PendingTable } from "./pending-table.ts";
import type { Enrollment } from "./record.ts";
import { type Enrollments, findByPeel, insertEnrollment } from "./store.ts";
import { liveStates } from "./transition.ts";
import type { Submission } from "./validate.ts";

export interface EnrollDeps {
  enrollments: Enrollments;
  challenges: Bucket;
  clock: Clock;
  random: Random;
  /**
   * SPKI pins of this fleet's own CA roots: two while the root is rotated, none when the master does not know it
   * (external mode).
   */
  readonly ownCaSpkis: readonly string[];
  /** The places for enrollments that wait for a decision. */
  pending: PendingTable;
  metrics: { keyMismatch(): void };
  log: Log;
}

export interface EnrollResult {
  record: Enrollment;
  /** Whether this call created the record; otherwise it was already pending. */
  created: boolean;
  /** The existing record has another public key than this submission. */
  keyMismatch: boolean;
}

/**
 * Verifies a submission and creates the enrollment in `pending`, or returns the pending one.
 *
 * @throws SvcError `unauthorized` for a bad challenge or signature, `bad_request` for another
 *   binding, `conflict` when the peel has a live enrollment, `unavailable` when too many are pending
 */
export async function enroll(deps: EnrollDeps, submission: Submission): Promise<EnrollResult> {
  const { peelId, publicKey, curvePublicKey } = submission;
  const challenge = await consumeChallenge(deps, submission.challengeId, { peelId, publicKey });
  if (
    !verifySignature("user", publicKey, enrollmentMessage(challenge, curvePublicKey), submission.signature)
  ) {
    throw new SvcError("unauthorized", "signature verification failed");
  }
  verifyAttestation(submission, challenge);
  deps.log.info("enrollment.verify.success", { peel_id: peelId });

  const attempt = async () => {
    const found = await findByPeel(deps.enrollments, peelId);
    const current = found?.current?.record;
    if (current?.state === "pending") return pendingRepeat(deps, current, submission);
    if (current !== undefined && liveStates.has(current.state)) {
      // The client has not proved that it is this peel, so it must not learn the ID or the state.
      throw takenError();
    }
    if (found !== undefined && current === undefined && (await isHeld(deps, found.id))) {
      deps.log.warn("enrollment refused: the record of this peel was changed by others", {
        enrollment_id: found.id,
        peel_id: peelId,
      });
      throw takenError();
    }
    const place = await deps.pending.take(peelId);
    let isStored = false;
    try {
      const record = newRecord(deps, submission, challenge);
      isStored = (await insertEnrollment(deps.enrollments, record, found?.indexRevision)) !== undefined;
      return isStored ? { record, created: true, keyMismatch: false } : conflict;
    } finally {
      place.giveBack(isStored);
    }
  };
  return retryOnConflict(attempt, { exhausted: "other requests are enrolling this peel_id: try again" });
}

function takenError(): SvcError {
  return new SvcError(
    "conflict",
    "peel_id already has an active enrollment: an operator must revoke it first",
  );
}

/** Whether a record that is no longer valid was live when a master last wrote it. */
async function isHeld({ enrollments }: EnrollDeps, id: string): Promise<boolean> {
  if (enrollments.vouchers === undefined) return false;
  const good = await lastVouched(enrollments, enrollments.vouchers, id);
  return good !== undefined && liveStates.has(good.record.state);
}

function verifyAttestation(submission: Submission, challenge: Uint8Array): void {
  const { attestation, publicKey } = submission;
  if (attestation === undefined) return;
  const message = attestationMessage(challenge, attestation.caSpki);
  if (!verifySignature("user", publicKey, message, attestation.signatureBytes)) {
    throw new SvcError("unauthorized", "trust_signature verification failed");
  }
}

function pendingRepeat(deps: EnrollDeps, record: Enrollment, submission: Submission): EnrollResult {
  const keyMismatch = record.publicKey !== submission.publicKey;
  if (keyMismatch) {
    deps.metrics.keyMismatch();
    deps.log.warn("enrollment repeated with another key", {
      enrollment_id: record.id,
      peel_id: record.peelId,
    });
  }
  return { record, created: false, keyMismatch };
}

function newRecord(deps: EnrollDeps, submission: Submission, challenge: Uint8Array): Enrollment {
  const now = deps.clock.now();
  const { attestation } = submission;
  return {
    id: newId("enr", now, deps.random),
    peelId: submission.peelId,
    publicKey: submission.publicKey,
    curvePublicKey: submission.curvePublicKey,
    ...defined({ hostname: submission.hostname, metadata: submission.metadata }),
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
