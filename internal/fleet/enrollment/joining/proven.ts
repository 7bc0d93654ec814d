import { isDeepStrictEqual } from "node:util";
import type { Log } from "../../../base/log.ts";
import type { Enrollment, Evidence } from "../record/mod.ts";
import { type ApplyDeps, applyEvent } from "../store/mod.ts";
import type { Submission } from "./validate.ts";

/**
 * Verifies what a host proves in addition to its key.
 *
 * @returns `undefined` for a type that this master is not configured for
 * @throws SvcError `unauthorized` when it does not verify, `unavailable` when this master cannot tell now
 */
export type VerifyEvidence = (submission: Submission, challenge: Uint8Array) => Promise<Evidence | undefined>;

/**
 * What the evidence of a submission proves; `undefined` without evidence. A master that is not configured for its
 * type ignores it: the host cannot choose which master it reaches, and an operator decides without evidence.
 *
 * @throws SvcError `unauthorized` when it does not verify, `unavailable` when this master cannot tell now
 */
export async function provenEvidence(
  { verifyEvidence, log }: { verifyEvidence?: VerifyEvidence; log: Log },
  submission: Submission,
  challenge: Uint8Array,
): Promise<Evidence | undefined> {
  const { evidence: sent, peelId } = submission;
  if (sent === undefined) return undefined;
  const evidence = await verifyEvidence?.(submission, challenge);
  if (evidence === undefined) {
    log.warn("evidence ignored: this master is not configured to verify it", {
      peel_id: peelId,
      evidence: sent.type,
    });
  }
  return evidence;
}

/** Adds what a host proves when it asks again. Without new evidence the record keeps what it has. */
export async function withEvidence(
  deps: ApplyDeps,
  record: Enrollment,
  evidence: Evidence | undefined,
): Promise<Enrollment> {
  if (evidence === undefined || isDeepStrictEqual(evidence, record.evidence)) return record;
  return applyEvent(deps, record.id, { type: "prove", evidence });
}
