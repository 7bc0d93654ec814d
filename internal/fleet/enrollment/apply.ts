import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bucket } from "../../bus/bucket.ts";
import type { Enrollment } from "./record.ts";
import { loadEnrollment, saveEnrollment } from "./store.ts";
import { type EnrollmentEvent, transition } from "./transition.ts";

const attempts = 5;

/** What every change of a record needs. */
export interface ApplyDeps {
  enrollments: Bucket;
  clock: Clock;
}

/**
 * Applies an event to a stored record: load, decide, compare-and-swap; again from the start when
 * somebody else changed the record in between, so that the decision always fits what is stored.
 *
 * @param before what must be done first with the changed record; done again for each attempt
 * @returns the saved record
 * @throws SvcError `not_found`, `invalid_transition`, `trust_mismatch`, or `conflict` when the record
 *   never held still
 */
export async function applyEvent(
  deps: ApplyDeps,
  id: string,
  event: EnrollmentEvent,
  before?: (changed: Enrollment) => Promise<void>,
): Promise<Enrollment> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { record, revision } = await loadEnrollment(deps.enrollments, id);
    const changed = transition(record, event, deps.clock.now());
    await before?.(changed);
    const saved = await saveEnrollment(deps.enrollments, changed, revision);
    if (saved !== undefined) return saved.record;
  }
  throw new SvcError("conflict", `the enrollment ${id} is being changed by others: try again`);
}
