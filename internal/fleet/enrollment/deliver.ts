import { timingSafeEqual } from "node:crypto";
import { decodeBase64Url } from "../../base/base64.ts";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/mod.ts";
import {
  encodeJwt,
  formatCredentials,
  type KeyPair,
  newKeyPair,
  verifySignature,
} from "../../identity/mod.ts";
import { credentialsMessage } from "./messages.ts";
import { peelPermissions } from "./permissions.ts";
import type { Enrollment } from "./record.ts";
import { loadEnrollment, saveEnrollment, type Versioned } from "./store.ts";
import { transition } from "./transition.ts";

/** Default lifetime of a peel's bus credentials: six months of 30 days. */
export const credentialsLifetimeMs = 180 * 24 * 60 * 60 * 1000;

export interface DeliverDeps {
  enrollments: Bucket;
  /** Key of the peels' account; it signs the JWT. */
  account: KeyPair;
  clock: Clock;
  random: Random;
  log: Log;
}

export interface Delivery {
  record: Enrollment;
  /** Text of the `.creds` file; a secret. */
  credentials: string;
  /** Milliseconds since the Unix epoch. */
  expiresAt: number;
}

/**
 * Hands out the bus credentials of an approved enrollment, once. The record is `issued` before
 * they leave; of any number of concurrent calls exactly one gets them.
 *
 * @param authorization value of the `Authorization` header: `Nkey <public key>:<base64url signature>`
 * @throws SvcError `not_found`, `unauthorized`, `forbidden` when the record is not approved,
 *   `conflict` when another download of the same moment won
 */
export async function deliverCredentials(
  deps: DeliverDeps,
  id: string,
  authorization: string | undefined,
): Promise<Delivery> {
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
  if (record.state !== "approved") {
    throw new SvcError(
      "forbidden",
      `credentials are handed out once, after approval: this enrollment is ${record.state}`,
    );
  }
  // Minted before the state moves: a failure here leaves the record approved, and nobody stranded.
  const { key, credentials, expiresAt } = mint(deps, record);
  const issued = transition(
    record,
    { type: "issue", busPublicKey: key.publicKey, credsExpiresAt: expiresAt },
    deps.clock.now(),
  );
  const saved = await saveIssued(deps, issued, revision);
  if (saved === undefined) {
    deps.log.warn("enrollment.credential.delivery.contention", { enrollment_id: id, peel_id: record.peelId });
    throw new SvcError("conflict", "another download of these credentials is under way");
  }
  deps.log.info("enrollment.credential.downloaded", { enrollment_id: id, peel_id: record.peelId });
  return { record: saved.record, credentials, expiresAt };
}

/**
 * Saves the move to `issued`. A write whose acknowledgement got lost may have been stored: the record
 * tells, as only this call knows the key it names, and then nobody is stranded.
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
  const [, publicKey, signatureText] =
    /^Nkey ([A-Z2-7]{56}):([A-Za-z0-9_=-]{1,128})$/.exec(authorization ?? "") ?? [];
  if (publicKey === undefined || signatureText === undefined) {
    return "the Authorization header must be Nkey <public key>:<base64url signature of the enrollment id>";
  }
  if (!timingSafeEqual(Buffer.from(publicKey), Buffer.from(record.publicKey))) {
    return "this is not the enrolled public key";
  }
  const signature = decodeBase64Url(signatureText);
  const valid =
    signature !== undefined &&
    verifySignature("user", record.publicKey, credentialsMessage(record.id), signature);
  return valid ? undefined : "signature verification failed";
}

function mint(
  deps: DeliverDeps,
  record: Enrollment,
): { key: KeyPair; credentials: string; expiresAt: number } {
  const issuedAt = Math.floor(deps.clock.now() / 1000);
  const expiresAt = issuedAt + credentialsLifetimeMs / 1000;
  const key = newKeyPair("user", deps.random);
  const jwt = encodeJwt(
    {
      type: "user",
      name: record.peelId,
      subject: key.publicKey,
      issuedAt,
      expiresAt,
      nats: { ...peelPermissions(record.peelId), subs: -1, data: -1, payload: -1 },
    },
    deps.account,
  );
  return { key, credentials: formatCredentials(jwt, key.seed), expiresAt: expiresAt * 1000 };
}
