import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { conflict, retryOnConflict } from "../../../base/retry-on-conflict.ts";
import { transition } from "../record/mod.ts";
import { loadEnrollment, saveEnrollment } from "../store/mod.ts";
import { type EnforceRevocation, type RevokeDeps, revoke } from "./revoke.ts";

/** How long the time of the last sighting may be behind: a second holder asks again and again. */
const sightingMs = 10 * 60_000;
/** The name of a revocation of an identity that two hosts hold. */
const operator = "svc-master";

export interface SuspectCloneDeps extends RevokeDeps {
  enforce: EnforceRevocation;
  /** `enroll.on_clone` */
  onClone: "alert" | "revoke";
  /** Reports the clone to the reactor. */
  notifyOfClone(id: string, peelId: string): Promise<void>;
  metrics: { cloneSuspected(): void };
  clock: Clock;
  log: Log;
}

/**
 * Marks a record of which a second holder was seen. It is reported once, until an operator takes the mark away.
 * Nothing is thrown: the second holder gets the same answer in any case.
 */
export async function reportClone(deps: SuspectCloneDeps, id: string): Promise<void> {
  const { log } = deps;
  const attempt = async () => {
    const { record, revision } = await loadEnrollment(deps.enrollments, id);
    const now = deps.clock.now();
    const isMarked = record.cloneSuspected === true;
    if (isMarked && now - (record.cloneSeenAt ?? 0) < sightingMs) return { record, isNew: false };
    const marked = transition(record, { type: "suspect-clone" }, now);
    const saved = await saveEnrollment(deps.enrollments, marked, revision);
    return saved === undefined ? conflict : { record: saved.record, isNew: !isMarked };
  };
  const exhausted = `other requests are changing the enrollment ${id}`;
  try {
    const { record, isNew } = await retryOnConflict(attempt, { exhausted });
    if (!isNew) return;
    const { peelId } = record;
    const fields = { enrollment_id: id, peel_id: peelId };
    deps.metrics.cloneSuspected();
    log.error("enrollment.clone.suspected", { ...fields, on_clone: deps.onClone });
    deps.notifyOfClone(id, peelId).catch((cause) => {
      log.warn("the reactor was not notified of a clone", { ...fields, reason: describeError(cause) });
    });
    if (deps.onClone === "alert") return;
    // Not awaited: it ends the connection on which the answer goes out.
    revoke({ ...deps, ...deps.enforce }, { id, operator, reason: "two hosts hold this identity" }).then(
      () => log.warn("enrollment revoked", { ...fields, operator }),
      (cause) => log.error("a suspected clone was not revoked", { ...fields, reason: describeError(cause) }),
    );
  } catch (thrown) {
    log.error("a suspected clone was not recorded", { enrollment_id: id, reason: describeError(thrown) });
  }
}
