import { sleep } from "../../../base/clock.ts";
import { describeError, SvcError } from "../../../base/errors.ts";
import type { Enrollment } from "../record/mod.ts";
import { type ApplyDeps, applyEvent, loadEnrollment } from "../store/mod.ts";
import type { Revocations } from "./revocations.ts";
import { type EnforceRevocation, revocationsOf } from "./revoke.ts";

export interface ResumeRecordDeps extends ApplyDeps {
  revocations: Pick<Revocations, "add" | "lift">;
}

/** What follows from a suspension rivals the end of the connection. */
export interface SuspensionEffects {
  /** Removes what the peel left in the streams. @returns how many messages */
  purge(peelId: string): Promise<number>;
  /** Reports the suspension to the reactor. */
  report(peelId: string, reason: string): Promise<void>;
}

/** How long a peel that is only disconnected stays away: until every server has seen its key revoked. */
const awayMs = 5_000;

/**
 * Ends all connections of a peel. It comes back by itself: a server of this age cannot end single ones, so
 * its key is revoked for a moment. The entry says until when, so that every master lifts it.
 *
 * @throws SvcError `not_found`, `storage`; the reason of the signal: another master, or the next start, lifts it
 */
export async function disconnect(
  deps: ResumeRecordDeps & Pick<EnforceRevocation, "enforcer">,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const { record } = await loadEnrollment(deps.enrollments, id);
  const entries = revocationsOf(record, deps.clock.now());
  if (entries.length === 0) return;
  const liftedAt = deps.clock.now() + awayMs;
  for (const entry of entries) await deps.revocations.add({ ...entry, suspension: true, liftedAt });
  await deps.enforcer.enforce();
  await sleep(deps.clock, Math.max(0, liftedAt - deps.clock.now()), signal);
  await deps.enforcer.enforce();
}

type EnforceDeps = Pick<EnforceRevocation, "enforcer" | "log">;

export interface SuspendRequest {
  id: string;
  operator: string;
  reason: string;
}

/**
 * Keeps a peel off the bus: its key is revoked, its connection ends, and what it left in the streams is
 * removed. The state of the record stays. Suspending it again does the same once more.
 *
 * @returns the record, and how many messages were removed
 * @throws SvcError `not_found`, `invalid_transition`, `conflict`; `unavailable` when the record is suspended but
 *   the bus did not confirm within its time: masters continue to enforce it
 */
export async function suspend(
  deps: ResumeRecordDeps & EnforceDeps & SuspensionEffects,
  request: SuspendRequest,
): Promise<{ record: Enrollment; purged: number }> {
  const { id, operator, reason } = request;
  const record = await applyEvent(deps, id, { type: "suspend", operator, reason }, async (changed) => {
    for (const entry of revocationsOf(changed, changed.updatedAt)) {
      await deps.revocations.add({ ...entry, suspension: true });
    }
  });
  const reported = deps.report(record.peelId, reason).catch((cause) =>
    deps.log.warn("the reactor was not notified of a suspension", {
      peel_id: record.peelId,
      reason: describeError(cause),
    }),
  );
  await enforce(deps, record, "suspended");
  await reported;
  // After the end of the connection: nothing is added to what is removed.
  return { record, purged: await deps.purge(record.peelId) };
}

/**
 * Ends a suspension: the credentials of the peel are valid again, and it connects by itself.
 *
 * @throws SvcError as `suspend`; `invalid_transition` when the peel is not suspended
 */
export async function resume(
  deps: ResumeRecordDeps & EnforceDeps,
  { id, operator }: { id: string; operator: string },
): Promise<Enrollment> {
  // The list first: after a crash between the two the operator can resume the peel again.
  const record = await applyEvent(deps, id, { type: "resume", operator }, async (changed) => {
    for (const entry of revocationsOf(changed, changed.updatedAt)) {
      await deps.revocations.lift(entry, deps.clock.now()).catch((thrown) => {
        // An older key may be revoked for good, when a renewal that had no room for it was not stored.
        const isCurrent = entry.busPublicKey === changed.busPublicKey;
        if (isCurrent || !(thrown instanceof SvcError && thrown.kind === "conflict")) throw thrown;
      });
    }
  });
  await enforce(deps, record, "resumed");
  return record;
}

async function enforce({ enforcer, log }: EnforceDeps, record: Enrollment, what: string): Promise<void> {
  if (record.busPublicKey === undefined) return;
  let confirmed = false;
  try {
    confirmed = await enforcer.enforce();
  } catch (cause) {
    log.error("revocation not confirmed", { enrollment_id: record.id, error: describeError(cause) });
  }
  if (confirmed) return;
  throw new SvcError(
    "unavailable",
    `${record.id} is ${what}, but the bus did not confirm in time: masters continue to enforce it`,
  );
}
