import { SvcError } from "../../../base/errors.ts";
import type { Enrollment, EnrollmentEvent } from "../record/mod.ts";
import { applyEvent } from "../store/mod.ts";
import type { EnrollDeps } from "./deps.ts";
import type { Admission } from "./way-in.ts";

/**
 * Stores a record as an admission made it: a decision is in the audit before, and what it took is given back when
 * the record is not stored.
 *
 * @param store returns `undefined` when a race was lost
 */
export async function recorded(
  deps: Pick<EnrollDeps, "begin" | "log">,
  made: Enrollment,
  admission: Admission | undefined,
  store: () => Promise<Enrollment | undefined>,
): Promise<Enrollment | undefined> {
  let stored: Enrollment | undefined;
  const isDecided = made.state !== "pending";
  try {
    const action = made.state === "rejected" ? "enrollments.reject" : "enrollments.approve";
    const { id: enrollment, peelId: peel, decidedBy: by = "" } = made;
    const end = isDecided ? await deps.begin({ action, by, enrollment, peel }) : undefined;
    try {
      if (isDecided) admission?.assertHeld?.();
      stored = await store();
    } finally {
      await end?.(stored === undefined ? "failed" : "done");
    }
  } finally {
    // A use that admits no host is not used.
    if (stored?.state !== "approved") await admission?.giveBack?.();
  }
  if (stored !== undefined && isDecided) {
    const { id: enrollment_id, peelId: peel_id, decidedBy: operator } = stored;
    deps.log.info(`enrollment ${stored.state}`, { enrollment_id, peel_id, operator });
  }
  return stored;
}

/** @returns `undefined` when an operator was first */
export async function decideUnlessDecided(
  deps: Pick<EnrollDeps, "enrollments" | "clock">,
  id: string,
  event: EnrollmentEvent,
): Promise<Enrollment | undefined> {
  try {
    return await applyEvent(deps, id, event);
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.kind === "invalid_transition") return undefined;
    throw thrown;
  }
}
