import type { Clock } from "../../../base/clock.ts";
import { attempt } from "../../../base/errors.ts";
import { conflict, retryOnConflict } from "../../../base/retry-on-conflict.ts";
import { type Enrollment, type EnrollmentEvent, transition } from "../record/mod.ts";
import { type Enrollments, loadEnrollment, saveEnrollment } from "./store.ts";

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
  const save = async (changed: Enrollment, revision: number) =>
    (await saveEnrollment(deps.enrollments, changed, revision))?.record ?? conflict;
  // What has effects before it is stored needs to know what is stored.
  let written = before === undefined ? changedOf(deps, id, event) : undefined;
  const attempt = async () => {
    const first = written;
    written = undefined;
    if (first !== undefined) return save(first.changed, first.revision);
    const { record, revision } = await loadEnrollment(deps.enrollments, id);
    const changed = transition(record, event, deps.clock.now());
    await before?.(changed, record);
    return save(changed, revision);
  };
  return retryOnConflict(attempt, {
    exhausted: `other requests are changing the enrollment ${id}: try again`,
  });
}

/**
 * The change of what this master wrote last, which is nearly always what is stored. The bus refuses it otherwise, and
 * the record is read; so it is where the event does not fit.
 */
function changedOf(
  { enrollments, clock }: ApplyDeps,
  id: string,
  event: EnrollmentEvent,
): { changed: Enrollment; revision: number } | undefined {
  const last = enrollments.readings?.lastWritten(id);
  if (last === undefined) return undefined;
  return attempt(() => ({ changed: transition(last.record, event, clock.now()), revision: last.revision }));
}
