import { SvcError } from "../../../base/errors.ts";
import { conflict, retryOnConflict } from "../../../base/retry-on-conflict.ts";
import { verifySignature } from "../../../identity/mod.ts";
import { attestationMessage, enrollmentMessage } from "../../../wire/enrollment-messages.ts";
import { type Enrollment, formerFrom, liveStates, transition } from "../record/mod.ts";
import { type FoundByPeel, findByPeel, insertEnrollment, removePending } from "../store/mod.ts";
import { admissionOf, admitted, eventOfAdmission, isLetIn, withProof } from "./admit.ts";
import { consumeChallenge } from "./challenge.ts";
import { contend, contendAgain } from "./contend.ts";
import type { EnrollDeps, EnrollResult, Proof } from "./deps.ts";
import { newRecord } from "./new-record.ts";
import { noteCopy } from "./note-copy.ts";
import { lastGood, rejectReasons, rejectRivals, takenError } from "./other-host.ts";
import { provenEvidence, withEvidence } from "./proven.ts";
import { decideUnlessDecided, recorded } from "./recorded.ts";
import type { Submission } from "./validate.ts";
import type { Admission } from "./way-in.ts";

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

  const proof = { submission, challenge, evidence, address };
  let isNew = deps.isKnown?.(peelId) === false;
  const attempt = () => {
    const mayBeKnown = !isNew;
    isNew = false;
    return decideOn(deps, proof, mayBeKnown);
  };
  const exhausted = "other requests are enrolling this peel_id: try again";
  const result = await retryOnConflict(attempt, { exhausted });
  const { state, decidedBy: by = "" } = result.record;
  if (state === "approved" && !result.keyMismatch) {
    await rejectRivals(deps, result.record, { by, reason: rejectReasons.replaced });
  }
  return result;
}

async function decideOn(
  deps: EnrollDeps,
  proof: Proof,
  mayBeKnown: boolean,
): Promise<EnrollResult | typeof conflict> {
  const { peelId, publicKey } = proof.submission;
  const found = mayBeKnown ? await findByPeel(deps.enrollments, peelId) : undefined;
  const current = found?.current?.record;
  const isOwn = current?.publicKey === publicKey;
  if (current !== undefined && isOwn && isLetIn(current)) {
    // The answer was lost, and this host proved that it is the one that was admitted.
    return { record: current, created: false, keyMismatch: false };
  }
  if (current !== undefined && current.state !== "pending" && liveStates.has(current.state)) {
    // The client has not proved that it is this peel, so it must not learn the ID or the state.
    throw takenError();
  }
  const ended = current ?? (found && (await lastGood(deps.enrollments, found.id)));
  // No longer valid, and live when a master last wrote it.
  if (found !== undefined && current === undefined && ended !== undefined && liveStates.has(ended.state)) {
    deps.log.warn("enrollment refused: the record of this peel was changed by others", {
      enrollment_id: found.id,
      peel_id: peelId,
    });
    throw takenError();
  }
  const waiting = current?.state === "pending" ? current : undefined;
  if (waiting !== undefined && isOwn && waiting.rivalOf === undefined) {
    return decidePending(deps, waiting, proof);
  }
  const own = deps.rivals.rivalsOf(peelId).find((rival) => rival.publicKey === publicKey);
  const ownId = isOwn ? waiting?.id : own?.id;
  if (ownId !== undefined) return contendAgain(deps, ownId, isOwn ? undefined : waiting, proof);
  if (found !== undefined && waiting !== undefined) return contend(deps, found, waiting, proof);
  return enrollNew(deps, proof, found, ended);
}

/** The first host with a peel id, or the first after one that has left. @param ended the enrollment of that one */
async function enrollNew(
  deps: EnrollDeps,
  proof: Proof,
  found: FoundByPeel | undefined,
  ended: Enrollment | undefined,
): Promise<EnrollResult | typeof conflict> {
  const { submission, challenge, address } = proof;
  const indexRevision = found?.indexRevision;
  const requested = newRecord(deps, proof, formerFrom(ended));
  const admission = await admissionOf(deps.waysIn, { submission, record: requested, challenge });
  const record = withProof(requested, admission);
  const made = admitted(record, admission, deps.clock.now());
  const stored = await recorded(deps, made, admission, async () => {
    const proven = record.provedBy !== undefined;
    const place = await deps.pending.take({ address, proven, waits: made.state === "pending" });
    let written: Enrollment | undefined;
    try {
      written = await place.occupy(
        record.id,
        () => storeNew(deps, { record, made, admission, indexRevision }),
        () => removePending(deps.enrollments, record.id, record.createdAt),
      );
    } finally {
      place.giveBack(written?.id);
    }
    return written;
  });
  return stored === undefined ? conflict : { record: stored, created: true, keyMismatch: false };
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

/** A host that asks again: it may have a way in now. */
async function decidePending(
  deps: EnrollDeps,
  found: Enrollment,
  { submission, challenge, evidence }: Proof,
): Promise<EnrollResult | typeof conflict> {
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

function verifyAttestation(submission: Submission, challenge: Uint8Array): void {
  const { attestation, publicKey } = submission;
  if (attestation === undefined) return;
  const message = attestationMessage(challenge, attestation.caSpki);
  if (!verifySignature("user", publicKey, message, attestation.signatureBytes)) {
    throw new SvcError("unauthorized", "trust_signature verification failed");
  }
}
