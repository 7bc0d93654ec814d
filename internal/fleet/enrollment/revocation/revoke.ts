import type { Clock } from "../../../base/clock.ts";
import { defined } from "../../../base/defined.ts";
import { describeError, SvcError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import type { Reconciler } from "../../../bus/servers/mod.ts";
import { type BusKey, busKeysOf, type Enrollment } from "../record/mod.ts";
import { type ApplyDeps, applyEvent, loadEnrollment } from "../store/mod.ts";
import type { Disconnections } from "./disconnections.ts";
import type { Revocation, Revocations } from "./revocations.ts";

export interface RevokeDeps extends ApplyDeps {
  revocations: Pick<Revocations, "add">;
}

/** What is needed to apply a revocation to the bus immediately. */
export interface EnforceRevocation {
  enforcer: Pick<Reconciler, "enforce">;
  disconnections: Disconnections;
  metrics: { revocationSeconds(seconds: number): void };
  clock: Clock;
  log: Log;
}

export interface RevokeRequest {
  id: string;
  operator: string;
  reason?: string | undefined;
}

/**
 * Revokes an enrollment in storage. The entry on the revocation list is written before the record
 * changes: after a crash between the two the list is enforced, and the operator can revoke again.
 *
 * @throws SvcError `not_found`, `invalid_transition`, `conflict`
 */
export function revokeRecord(deps: RevokeDeps, request: RevokeRequest): Promise<Enrollment> {
  const event = {
    type: "revoke" as const,
    operator: request.operator,
    ...defined({ reason: request.reason }),
  };
  return applyEvent(deps, request.id, event, (revoked, before) => listRevocations(deps, before, revoked));
}

/** Puts all keys of a revoked enrollment on the revocation list. The record does not name them any longer. */
export async function listRevocations(
  deps: Pick<RevokeDeps, "revocations">,
  before: Enrollment,
  revoked: Enrollment,
): Promise<void> {
  const at = revoked.revokedAt ?? revoked.updatedAt;
  for (const entry of revocationsOf(before, at)) await deps.revocations.add(entry);
}

/** What puts the keys of a record on the revocation list, the current one last. */
export function revocationsOf(record: Enrollment, revokedAt: number): Revocation[] {
  return busKeysOf(record).map((key) => revocationOf(record, key, revokedAt));
}

/** What puts one key of a record on the revocation list. */
export function revocationOf(record: Enrollment, key: BusKey, revokedAt: number): Revocation {
  const { publicKey: busPublicKey, expiresAt } = key;
  return { busPublicKey, peelId: record.peelId, enrollmentId: record.id, revokedAt, expiresAt };
}

export interface RevokeResult {
  record: Enrollment;
  /** Milliseconds from the call to the end of the last live connection; absent when there was none. */
  closedInMs?: number;
}

/**
 * Revokes an enrollment and ends its live connection.
 *
 * @throws SvcError as `revokeRecord`; `unavailable` when the record is revoked, but the bus did not confirm
 * in time: masters continue to enforce it
 */
export async function revoke(
  deps: RevokeDeps & EnforceRevocation,
  request: RevokeRequest,
): Promise<RevokeResult> {
  const started = deps.clock.monotonic();
  const { record: before } = await loadEnrollment(deps.enrollments, request.id);
  const watched = busKeysOf(before).map(({ publicKey }) => deps.disconnections.watch(publicKey));
  try {
    const record = await revokeRecord(deps, request);
    if (record.busPublicKey === undefined) return { record };
    let confirmed = false;
    try {
      confirmed = await deps.enforcer.enforce();
    } catch (cause) {
      deps.log.error("revocation not confirmed", { enrollment_id: record.id, error: describeError(cause) });
    }
    if (!confirmed) {
      throw new SvcError(
        "unavailable",
        `${record.id} is revoked, but the bus did not confirm in time: masters continue to enforce it`,
      );
    }
    const ends = await Promise.all(watched.map((one) => one.closed()));
    const closedAt = ends.filter((at) => at !== undefined);
    if (closedAt.length === 0) return { record };
    const closedInMs = Math.max(0, ...closedAt.map((at) => at - started));
    deps.metrics.revocationSeconds(closedInMs / 1000);
    return { record, closedInMs };
  } finally {
    for (const one of watched) one.stop();
  }
}
