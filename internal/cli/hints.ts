import { SvcError } from "../base/errors.ts";
import type { Hints } from "../fleet/operation/mod.ts";

const listPeels = "see svc peels list";
const listRollouts = "see svc rollout list";
const ofJob = { not_found: "see svc job list" };
const ofRollout = { not_found: listRollouts };
const ofEnrollment = { not_found: "see svc enroll list --state all" };
const ofApproval = { not_found: "see svc approval list" };

/** What an operator can do on the command line about a refusal, by operation and kind. */
export const hintsOf: Readonly<Record<string, Hints>> = {
  "approvals.show": ofApproval,
  "approvals.approve": ofApproval,
  "approvals.deny": ofApproval,
  "audit.show": { not_found: "see svc audit list" },
  "enrollments.approve": { ...ofEnrollment, trust_mismatch: "approve it anyway with --force" },
  "enrollments.reject": ofEnrollment,
  "enrollments.revoke": ofEnrollment,
  "enrollments.suspend": ofEnrollment,
  "enrollments.resume": ofEnrollment,
  "enrollments.label": ofEnrollment,
  "enrollments.clear-clone": ofEnrollment,
  "enrollments.discard": ofEnrollment,
  "enrollments.revoke-user": { not_found: "revoke the key with --key U…; see svc enroll strays" },
  "jobs.create": { not_found: listPeels },
  "jobs.show": ofJob,
  "jobs.cancel": ofJob,
  "jobs.follow": ofJob,
  "reactor.reset": { not_found: "see svc reactor rules" },
  "targets.resolve": { not_found: listPeels },
  "rollouts.start": { not_found: listPeels, invalid_transition: listRollouts },
  "rollouts.show": ofRollout,
  "rollouts.pause": ofRollout,
  "rollouts.resume": ofRollout,
  "rollouts.abort": ofRollout,
};

/** An error of an operation with the hint of the command line. */
export function withHint(operation: string, error: SvcError): SvcError {
  return hintedBy(hintsOf[operation], error);
}

/** An error with what its hints say of it. */
export function hintedBy(hints: Hints = {}, error: SvcError): SvcError {
  const hint = hints[error.kind];
  // A master of an older version has said it already.
  if (hint === undefined || error.message.includes(hint)) return error;
  return new SvcError(error.kind, `${error.message}: ${hint}`, { cause: error });
}

/** Does a part of an operation here, without a master. @throws SvcError with the hint of the operation */
export async function hinted<T>(operation: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    throw thrown instanceof SvcError ? withHint(operation, thrown) : thrown;
  }
}
