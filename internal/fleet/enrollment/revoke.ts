import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type ApplyDeps, applyEvent } from "./apply.ts";
import type { Disconnections } from "./disconnections.ts";
import type { Enforcer } from "./enforce.ts";
import type { Enrollment } from "./record.ts";
import type { Revocations } from "./revocations.ts";
import { loadEnrollment } from "./store.ts";

export interface RevokeDeps extends ApplyDeps {
  revocations: Pick<Revocations, "add">;
}

/** What is needed to apply a revocation to the bus immediately. */
export interface EnforceRevocation {
  enforcer: Pick<Enforcer, "enforce">;
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
  return applyEvent(deps, request.id, event, (revoked) => listRevocation(deps, revoked));
}

/** Puts the key of a revoked enrollment on the revocation list. */
export async function listRevocation(
  deps: Pick<RevokeDeps, "revocations">,
  revoked: Enrollment,
): Promise<void> {
  const { busPublicKey, credsExpiresAt } = revoked;
  if (busPublicKey === undefined || credsExpiresAt === undefined) return;
  await deps.revocations.add({
    busPublicKey,
    peelId: revoked.peelId,
    enrollmentId: revoked.id,
    revokedAt: revoked.revokedAt ?? revoked.updatedAt,
    expiresAt: credsExpiresAt,
  });
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
  const watched =
    before.busPublicKey === undefined ? undefined : deps.disconnections.watch(before.busPublicKey);
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
    const closedAt = await watched?.closed();
    if (closedAt === undefined) return { record };
    const closedInMs = Math.max(0, closedAt - started);
    deps.metrics.revocationSeconds(closedInMs / 1000);
    return { record, closedInMs };
  } finally {
    watched?.stop();
  }
}
