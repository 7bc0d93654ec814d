import { type ErrorKind, SvcError } from "../../../base/errors.ts";

/** What a client of this interface can do after a refusal, by operation and kind. */
const hints: Readonly<Record<string, Partial<Record<ErrorKind, string>>>> = {
  "enrollments.approve": { trust_mismatch: 'approve it anyway with {"force": true}' },
};

/** Adds the hint of this interface to the error of an operation. */
export function withHint(operation: string, thrown: unknown): unknown {
  if (!(thrown instanceof SvcError)) return thrown;
  const hint = hints[operation]?.[thrown.kind];
  return hint === undefined
    ? thrown
    : new SvcError(thrown.kind, `${thrown.message}; ${hint}`, { cause: thrown });
}
