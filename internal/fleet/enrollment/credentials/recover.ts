import { rfc3339 } from "../../../base/clock.ts";
import { sayDuration } from "../../../base/duration.ts";
import { SvcError } from "../../../base/errors.ts";
import { displayPeelId } from "../../../base/names/peel-id.ts";
import { retryOnConflict } from "../../../base/retry-on-conflict.ts";
import type { Bucket } from "../../../bus/storage/mod.ts";
import { verifySignature } from "../../../identity/mod.ts";
import { recoveryMessage } from "../../../wire/enrollment-messages.ts";
import { consumeChallenge } from "../joining/mod.ts";
import { awaitsRecovery, busKeysOf, type Enrollment, memberStates } from "../record/mod.ts";
import { loadEnrollment } from "../store/mod.ts";
import type { RecoveryRequest } from "./recovery-request.ts";
import { type IssueAgainDeps, issueAgain, type Renewed } from "./renew.ts";

/** When a suspended peel may try again. */
const suspendedMs = 60_000;

export interface RecoverDeps extends IssueAgainDeps {
  challenges: Bucket;
  /** How long after the end of its credentials a peel may recover; 0 means never. */
  recoveryWindowMs: number;
}

/**
 * Gives credentials to a peel that proves its enrolled key: it was away for too long, or lost them.
 *
 * @throws SvcError `not_found`, `unauthorized`, `forbidden` for a record that ended or credentials that ended too
 *   long ago, `bad_request`, `conflict`; `unavailable` while the peel is suspended
 */
export async function recover(deps: RecoverDeps, request: RecoveryRequest): Promise<Renewed> {
  const { id, publicKey, busPublicKey } = request;
  await authorize(deps, request);
  const attempt = async () => {
    const loaded = await loadEnrollment(deps.enrollments, id);
    const { record } = loaded;
    // The key may have been replaced meanwhile.
    if (record.publicKey !== publicKey)
      throw new SvcError("unauthorized", "this is not the enrolled public key");
    assertRecoverable(record, deps.recoveryWindowMs, deps.clock.now());
    if (busKeysOf(record).some((one) => one.publicKey === busPublicKey)) {
      throw new SvcError("bad_request", "bus_public_key must be a new key");
    }
    const { revokePrevious } = request;
    return issueAgain(deps, loaded, busPublicKey, (key) => ({ type: "recover", key, revokePrevious }));
  };
  const recovered = await retryOnConflict(attempt, {
    exhausted: `other requests are changing the enrollment ${id}: try again`,
  });
  deps.log.info("enrollment.credential.recovered", {
    enrollment_id: id,
    peel_id: recovered.record.peelId,
    recoveries: recovered.record.recoveries,
    revoked_previous: request.revokePrevious,
  });
  return recovered;
}

async function authorize(deps: RecoverDeps, request: RecoveryRequest): Promise<void> {
  const { id, publicKey, busPublicKey } = request;
  const { record } = await loadEnrollment(deps.enrollments, id);
  const refuse = (reason: string) => {
    deps.log.warn("enroll: recovery refused", { enrollment_id: id, peel_id: record.peelId, reason });
    return new SvcError("unauthorized", reason);
  };
  if (record.publicKey !== publicKey) throw refuse("this is not the enrolled public key");
  const binding = { peelId: record.peelId, publicKey };
  const challenge = await consumeChallenge(deps, request.challengeId, binding).catch((thrown) => {
    const isRefused = thrown instanceof SvcError && ["unauthorized", "bad_request"].includes(thrown.kind);
    throw isRefused ? refuse("challenge verification failed") : thrown;
  });
  const message = recoveryMessage({ challenge, enrollmentId: id, busPublicKey });
  if (!verifySignature("user", publicKey, message, request.signature)) {
    throw refuse("signature verification failed");
  }
}

/** Until when a peel may recover; `undefined` when its record or the configuration does not allow it. */
export function recoverableUntil(
  { state, credsExpiresAt }: Pick<Enrollment, "state" | "credsExpiresAt">,
  windowMs: number,
): number | undefined {
  if (!memberStates.has(state) || windowMs === 0 || credsExpiresAt === undefined) return undefined;
  return credsExpiresAt + windowMs;
}

function assertRecoverable(record: Enrollment, windowMs: number, now: number): void {
  const { id, state, suspended } = record;
  const name = displayPeelId(record.peelId);
  // The credentials of the fleet before say nothing here.
  if (awaitsRecovery(record)) return;
  if (!memberStates.has(state)) {
    throw new SvcError(
      "forbidden",
      `the enrollment ${id} of ${name} is ${state}: its credentials are not recovered`,
    );
  }
  const until = recoverableUntil(record, windowMs);
  if (until === undefined) {
    throw new SvcError(
      "forbidden",
      "this fleet does not recover credentials: an operator revokes the enrollment, and the peel enrolls again",
    );
  }
  if (now > until) {
    const ended = rfc3339(record.credsExpiresAt ?? 0);
    throw new SvcError(
      "forbidden",
      `the credentials of ${name} ended at ${ended}, longer ago than enroll.recovery_window (${sayDuration(windowMs)}): an operator revokes the enrollment ${id}, and the peel enrolls again`,
    );
  }
  if (suspended !== undefined) {
    const later = { retryAfterMs: suspendedMs };
    throw new SvcError(
      "unavailable",
      `the enrollment ${id} of ${name} is suspended: an operator resumes it`,
      later,
    );
  }
}
