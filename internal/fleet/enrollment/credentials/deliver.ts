import { timingSafeEqual } from "node:crypto";
import type { BoundedMap } from "../../../base/bounded-map.ts";
import { SvcError } from "../../../base/errors.ts";
import type { Random } from "../../../base/id.ts";
import type { Log } from "../../../base/log.ts";
import { formatCredentials, newKeyPair, verifySignature } from "../../../identity/mod.ts";
import { credentialsMessage } from "../../../wire/enrollment-messages.ts";
import { type MintDeps, mint } from "../bus-user/mod.ts";
import { type Enrollment, transition } from "../record/mod.ts";
import { type Enrollments, loadEnrollment, saveEnrollment, type Versioned } from "../store/mod.ts";
import { readProof } from "./proof.ts";

export interface DeliverDeps extends MintDeps {
  enrollments: Enrollments;
  random: Random;
  log: Log;
  /** When this master issued the credentials of an enrollment, on the monotonic clock. */
  issuedAt: Pick<BoundedMap<number>, "get" | "set">;
}

export interface Delivery {
  record: Enrollment;
  /** Text of the `.creds` file; a secret. */
  credentials: string;
  /** Milliseconds since the Unix epoch. */
  expiresAt: number;
}

/**
 * Issues the bus credentials of an approved enrollment, once. The record is `issued` before they are
 * returned. Exactly one of several concurrent calls gets them.
 *
 * @param authorization value of the `Authorization` header: `Nkey <public key>:<base64url signature>`
 * @throws SvcError `not_found`, `unauthorized`, `forbidden` when the record is not approved,
 *   `conflict` when a concurrent download won
 */
export async function deliverCredentials(
  deps: DeliverDeps,
  id: string,
  authorization: string | undefined,
): Promise<Delivery> {
  const begun = deps.clock.monotonic();
  const written = deps.enrollments.readings?.lastWritten(id);
  // What this master wrote last may be outdated, so nothing is refused because of it.
  const isGood =
    written?.record.state === "approved" && authorize(written.record, authorization) === undefined;
  if (isGood) {
    const delivery = await issue(deps, written);
    if (delivery !== undefined) return delivery;
  }
  const { record, revision } = await loadEnrollment(deps.enrollments, id);
  const refusal = authorize(record, authorization);
  if (refusal !== undefined) {
    deps.log.warn("enroll: creds auth failed", {
      enrollment_id: id,
      peel_id: record.peelId,
      reason: refusal,
    });
    throw new SvcError("unauthorized", refusal);
  }
  // It was approved when this download began: another one took them meanwhile.
  const isOvertaken = isGood || (deps.issuedAt.get(id) ?? Number.NEGATIVE_INFINITY) > begun;
  if (isOvertaken && record.state !== "approved") throw contended(deps, record);
  if (record.state !== "approved") {
    throw new SvcError(
      "forbidden",
      `credentials are issued once, after approval: this enrollment is ${record.state}`,
    );
  }
  const delivery = await issue(deps, { record, revision });
  if (delivery !== undefined) return delivery;
  throw contended(deps, record);
}

function contended({ log }: DeliverDeps, { id, peelId }: Enrollment): SvcError {
  log.warn("enrollment.credential.delivery.contention", { enrollment_id: id, peel_id: peelId });
  return new SvcError("conflict", "another download of these credentials is in progress");
}

/** @returns `undefined` when another change of the record was first */
async function issue(deps: DeliverDeps, { record, revision }: Versioned): Promise<Delivery | undefined> {
  // Create them before the state changes: after a failure here the record is still approved, and the peel can
  // try again.
  const key = newKeyPair("user", deps.random);
  const { jwt, expiresAt } = mint(deps, record, key.publicKey);
  const credentials = formatCredentials(jwt, key.seed);
  const issued = transition(
    record,
    { type: "issue", busPublicKey: key.publicKey, credsExpiresAt: expiresAt },
    deps.clock.now(),
  );
  const saved = await saveIssued(deps, issued, revision);
  if (saved === undefined) return undefined;
  deps.issuedAt.set(record.id, deps.clock.monotonic());
  deps.log.info("enrollment.credential.downloaded", { enrollment_id: record.id, peel_id: record.peelId });
  return { record: saved.record, credentials, expiresAt };
}

/**
 * Stores the state `issued`. When the acknowledgement is lost, the write may still have been stored. Then the
 * record contains the key, which only this call knows, and the peel gets its credentials.
 */
async function saveIssued(
  deps: DeliverDeps,
  issued: Enrollment,
  revision: number,
): Promise<Versioned | undefined> {
  try {
    return await saveEnrollment(deps.enrollments, issued, revision);
  } catch (cause) {
    const stored = await loadEnrollment(deps.enrollments, issued.id);
    if (stored.record.busPublicKey === issued.busPublicKey) return stored;
    throw cause;
  }
}

/** The reason to refuse, or `undefined` when the header proves the enrolled key. */
function authorize(record: Enrollment, authorization: string | undefined): string | undefined {
  const proof = readProof(authorization);
  if (proof === undefined) {
    return "the Authorization header must be Nkey <public key>:<base64url signature of the enrollment id>";
  }
  const { publicKey, signature } = proof;
  if (!timingSafeEqual(Buffer.from(publicKey), Buffer.from(record.publicKey))) {
    return "this is not the enrolled public key";
  }
  const valid = verifySignature("user", record.publicKey, credentialsMessage(record.id), signature);
  return valid ? undefined : "signature verification failed";
}
