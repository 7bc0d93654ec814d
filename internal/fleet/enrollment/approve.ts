import { type ApplyDeps, applyEvent } from "./apply.ts";
import type { Enrollment } from "./record.ts";

/**
 * Approves a pending enrollment. Credentials are made later, when the peel asks for them.
 *
 * @param request.force approve although the peel trusted another CA root
 * @throws SvcError `not_found`, `invalid_transition`, `trust_mismatch`, `conflict`
 */
export function approve(
  deps: ApplyDeps,
  request: { id: string; operator: string; force: boolean },
): Promise<Enrollment> {
  return applyEvent(deps, request.id, { type: "approve", operator: request.operator, force: request.force });
}
