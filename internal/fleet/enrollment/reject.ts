import { defined } from "../../base/defined.ts";
import { type ApplyDeps, applyEvent } from "./apply.ts";
import type { Enrollment } from "./record.ts";

/**
 * Rejects a pending enrollment. The peel may enroll again, with a new record.
 *
 * @throws SvcError `not_found`, `invalid_transition`, `conflict`
 */
export function reject(
  deps: ApplyDeps,
  request: { id: string; operator: string; reason?: string | undefined },
): Promise<Enrollment> {
  const reason = defined({ reason: request.reason });
  return applyEvent(deps, request.id, { type: "reject", operator: request.operator, ...reason });
}
