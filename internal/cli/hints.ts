import { type ErrorKind, SvcError } from "../base/errors.ts";

const listPeels = "see svc peels list";
const listRollouts = "see svc rollout list";
const ofRollout = { not_found: listRollouts };

/** What an operator can do on the command line about a refusal, by operation and kind. */
const hints: Readonly<Record<string, Partial<Record<ErrorKind, string>>>> = {
  "enrollments.approve": { trust_mismatch: "approve it anyway with --force" },
  "enrollments.revoke-user": { not_found: "revoke the key with --key U…; see svc enroll strays" },
  "jobs.create": { not_found: listPeels },
  "targets.resolve": { not_found: listPeels },
  "rollouts.start": { not_found: listPeels, invalid_transition: listRollouts },
  "rollouts.show": ofRollout,
  "rollouts.pause": ofRollout,
  "rollouts.resume": ofRollout,
  "rollouts.abort": ofRollout,
};

/** An error of an operation with the hint of the command line. */
export function withHint(operation: string, error: SvcError): SvcError {
  const hint = hints[operation]?.[error.kind];
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
