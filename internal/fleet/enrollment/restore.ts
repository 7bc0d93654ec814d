import { SvcError } from "../../base/errors.ts";
import { type Enrollment, encodeRecord, liveStates } from "./record/mod.ts";
import { type Enrollments, findByPeel, lastVouched, parseKey, pointIndex, readEntry } from "./store/mod.ts";

/**
 * Restores the last valid revision of a record, and the index of its peel.
 *
 * @throws SvcError `not_found` without such a revision, `invalid_transition` when the record is valid,
 *   `conflict` when the peel has another live enrollment, or when the record was changed meanwhile
 */
export async function restore(enrollments: Enrollments, id: string): Promise<Enrollment> {
  const { vouchers } = enrollments;
  if (vouchers === undefined) throw new SvcError("internal", "only a master can restore a record");
  const good = await lastVouched(enrollments, vouchers, id);
  if (good === undefined) {
    throw new SvcError(
      "not_found",
      "no valid revision of this enrollment is left: remove it with svc enroll discard",
    );
  }
  const { record } = good;
  const now = await enrollments.get(id);
  if (now !== undefined && readEntry(enrollments, now) !== undefined) {
    throw new SvcError(
      "invalid_transition",
      `the enrollment ${id} was not changed by others: nothing to restore`,
    );
  }
  const found = await findByPeel(enrollments, record.peelId);
  const holder = found?.current?.record;
  if (liveStates.has(record.state) && holder !== undefined && liveStates.has(holder.state)) {
    throw new SvcError(
      "conflict",
      `the peel has another enrollment, ${holder.id}: reject or revoke that first`,
    );
  }
  const value = encodeRecord(vouchers.mark(record));
  const written =
    now === undefined
      ? await enrollments.create(id, value)
      : await enrollments.update(id, value, now.revision);
  const changed = new SvcError("conflict", `the enrollment ${id} is being changed by others: try again`);
  if (written === undefined) throw changed;
  if (liveStates.has(record.state) && found?.id !== id) {
    if (!(await pointIndex(enrollments, record, found?.indexRevision))) throw changed;
  }
  return record;
}

/**
 * Removes a record of which no valid revision is left. Its peel can enroll again.
 *
 * @throws SvcError `not_found`, `invalid_transition` when the record is valid or can be restored, `conflict` when
 *   it changed meanwhile
 */
export async function discard(enrollments: Enrollments, id: string): Promise<void> {
  const { vouchers } = enrollments;
  if (vouchers === undefined) throw new SvcError("internal", "only a master can discard a record");
  const now = await enrollments.get(id);
  if (now === undefined || !("id" in parseKey(id)))
    throw new SvcError("not_found", "the enrollment does not exist");
  const isCounted = readEntry(enrollments, now) !== undefined;
  if (isCounted || (await lastVouched(enrollments, vouchers, id)) !== undefined) {
    throw new SvcError(
      "invalid_transition",
      `the enrollment ${id} has a valid revision: use svc enroll restore, reject or revoke`,
    );
  }
  if (!(await enrollments.remove(id, now.revision))) {
    throw new SvcError("conflict", `the enrollment ${id} is being changed by others: try again`);
  }
}
