import type { Clock } from "../../base/clock.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { Enrollment } from "./record.ts";
import { type Enrollments, loadEnrollment, saveEnrollment } from "./store.ts";
import { type EnrollmentEvent, transition } from "./transition.ts";

/** What every change of a record needs. */
export interface ApplyDeps {
  enrollments: Enrollments;
  clock: Clock;
}

/**
 * Applies an event to a stored record: load, decide, compare-and-swap. It starts again when the record
 * changed in between, so that the decision always fits the stored record.
 *
 * @param before runs before the changed record is stored, once for each attempt
 * @returns the saved record
 * @throws SvcError `not_found`, `invalid_transition`, `trust_mismatch`, or `conflict` when the record kept
 * changing
 */
export function applyEvent(
  deps: ApplyDeps,
  id: string,
  event: EnrollmentEvent,
  before?: (changed: Enrollment, record: Enrollment) => Promise<void>,
): Promise<Enrollment> {
  const attempt = async () => {
    const { record, revision } = await loadEnrollment(deps.enrollments, id);
    const changed = transition(record, event, deps.clock.now());
    await before?.(changed, record);
    return (await saveEnrollment(deps.enrollments, changed, revision))?.record ?? conflict;
  };
  return retryOnConflict(attempt, {
    exhausted: `other requests are changing the enrollment ${id}: try again`,
  });
}
