import { defined } from "../../../base/defined.ts";
import {
  type Enrollment,
  type EnrollmentEvent,
  isSameSet,
  labelsOnApproval,
  labelsProblem,
  transition,
} from "../record/mod.ts";
import type { Admission, Candidate, WayIn } from "./way-in.ts";

/** The decision of the first way in that has one. */
export async function admissionOf(
  ways: readonly WayIn[],
  candidate: Candidate,
): Promise<Admission | undefined> {
  for (const way of ways) {
    const admission = await way.judge(candidate);
    if (admission !== undefined) return admission;
  }
  return undefined;
}

/**
 * The event that an admission means for a record in `pending`; `undefined` when the record stays as it is. A host
 * that trusted another root is never approved or rejected without a person, but gets its labels.
 */
export function eventOfAdmission(
  record: Pick<Enrollment, "trustMismatch" | "labels" | "former" | "provedBy">,
  { decide, by, labels, reason, proven }: Admission,
): EnrollmentEvent | undefined {
  const isDecided = decide !== "hold" && record.trustMismatch !== true;
  if (isDecided && decide === "approve") {
    // A person decides which of them it keeps.
    if (labelsProblem(labelsOnApproval(record, labels ?? record.labels)) !== undefined) return undefined;
    return { type: "approve", operator: by, force: false, ...defined({ labels }) };
  }
  if (isDecided) return { type: "reject", operator: by, ...defined({ reason }) };
  const proof = proven === true && record.trustMismatch !== true && record.provedBy !== by ? { by } : {};
  const isNew = labels !== undefined && !isSameSet(labels, record.labels);
  const event = { ...proof, ...(isNew ? { labels } : {}) };
  return Object.keys(event).length === 0 ? undefined : { type: "hold", ...event };
}

/** The record of a host that proved itself, as it is stored before it is decided about. */
export function withProof(record: Enrollment, admission: Admission | undefined): Enrollment {
  const isProven = admission?.proven === true && record.trustMismatch !== true;
  return isProven ? { ...record, provedBy: admission.by } : record;
}

/** The record as an admission makes it, before it is stored for the first time. */
export function admitted(record: Enrollment, admission: Admission | undefined, now: number): Enrollment {
  const event = admission === undefined ? undefined : eventOfAdmission(record, admission);
  return event === undefined ? record : transition(record, event, now);
}

/** Whether a way in approved a record, whose host has not fetched its credentials yet. */
export function isLetIn({ state, decidedBy = "" }: Pick<Enrollment, "state" | "decidedBy">): boolean {
  // `token:` alone is a token of the REST API, with which an operator decided.
  return state === "approved" && /^(?:expected:|policy:|token:jtk-)/.test(decidedBy);
}
