import { SvcError } from "../../../base/errors.ts";
import type { Hints } from "../../../fleet/operation/mod.ts";

/** What a client of this interface can do after a refusal, by operation and kind. */
export const hintsOf: Readonly<Record<string, Hints>> = {
  "enrollments.approve": { trust_mismatch: 'approve it anyway with {"force": true}' },
};

/** Adds the hint of this interface to the error of an operation. */
export function withHint(thrown: unknown, hints: Hints = {}): unknown {
  if (!(thrown instanceof SvcError)) return thrown;
  const hint = hints[thrown.kind];
  return hint === undefined
    ? thrown
    : new SvcError(thrown.kind, `${thrown.message}; ${hint}`, { cause: thrown });
}
