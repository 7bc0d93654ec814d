import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { SvcError } from "../../base/errors.ts";
import type { KeyPair } from "../../identity/mod.ts";
import { recoveryMessage } from "../../wire/enrollment-messages.ts";
import { findEnrollment } from "./find-enrollment.ts";
import { type Issued, readIssued } from "./issued.ts";
import type { Answer, MasterClient } from "./master-client.ts";
import { refusal } from "./refusal.ts";

/** How often a challenge may be lost: any master may answer the second request. */
const challengeAttempts = 3;

/** The masters do not give credentials to this peel any more: an operator must act. */
export class EnrollmentEnded extends SvcError {
  /** What to do. */
  readonly next: string;
  /** Whether the record itself has ended, and no operator can bring it back. */
  readonly isOver: boolean;

  constructor(message: string, next: string, isOver = false) {
    super("forbidden", message);
    this.next = next;
    this.isOver = isOver;
  }
}

/** An operator suspended this peel, or a master did: until it is resumed, there are no credentials for it. */
export class EnrollmentSuspended extends SvcError {}

/** The masters know the key of the next credentials already: an answer with them was lost. */
export class BusKeyRefused extends SvcError {}

export interface RecoverCredentialsOptions {
  masters: Pick<MasterClient, "request">;
  /** Maximum number of failed requests of each step. */
  attempts: number;
  peelId: string;
  enrollmentId: string;
  /** Keys of this peel: that of the record is among them. More than one after an interrupted change of keys. */
  keys: readonly KeyPair[];
  /** The key of the next credentials. */
  busKey: KeyPair;
  /** Whether the credentials before are lost, and must not work any more. */
  revokePrevious: boolean;
  /** How the operator makes this peel enroll again. */
  again: string;
}

/**
 * Fetches credentials over HTTPS for a peel that is enrolled.
 *
 * @returns the credentials, and the key of the peel that the masters know
 * @throws EnrollmentEnded when an operator must act; BusKeyRefused when another bus key may help; SvcError `unavailable` when no master answers,
 *   `forbidden` for other refusals; TrustError
 */
export async function recoverCredentials(
  options: RecoverCredentialsOptions,
): Promise<Issued & { key: KeyPair }> {
  const { keys } = options;
  for (const [index, key] of keys.entries()) {
    const issued = await recoverWith(options, key, index === keys.length - 1);
    if (issued !== undefined) return { ...issued, key };
  }
  throw new SvcError("forbidden", "this peel has no key to recover its credentials with");
}

/** @returns `undefined` when the masters do not know this key, and it is not the last one to try */
async function recoverWith(
  options: RecoverCredentialsOptions,
  key: KeyPair,
  isLast: boolean,
): Promise<Issued | undefined> {
  const { masters, attempts, enrollmentId: id, busKey } = options;
  for (let attempt = 1; ; attempt++) {
    const nonce = await masters.request(
      "GET",
      `/api/v1/enroll/nonce?${new URLSearchParams({ peel_id: options.peelId, public_key: key.publicKey })}`,
      { attempts },
    );
    if (nonce.status !== 200) throw refusal("the master refused the challenge request", nonce);
    const challenge = decodeBase64(String(nonce.body.challenge ?? ""));
    if (challenge?.length !== 32) throw new SvcError("unavailable", "the master sent a malformed challenge");
    const message = recoveryMessage({ challenge, enrollmentId: id, busPublicKey: busKey.publicKey });
    const answer = await masters.request("POST", `/api/v1/enroll/${id}/recover`, {
      body: () => ({
        challenge_id: nonce.body.challenge_id,
        public_key: key.publicKey,
        bus_public_key: busKey.publicKey,
        signature: encodeBase64(key.sign(message)),
        ...(options.revokePrevious ? { revoke_previous: true } : {}),
      }),
      attempts,
      isFinal: isSuspended,
    });
    if (isSuspended(answer)) throw new EnrollmentSuspended("unavailable", String(answer.body.error));
    switch (answer.status) {
      case 200:
        return readIssued(answer.body, busKey);
      case 400:
        throw new BusKeyRefused("forbidden", refusal("the master refused the request", answer).message);
      case 401:
        if (attempt < challengeAttempts && isLost(answer.body.error)) continue;
        if (!isLast) return undefined;
        throw ended(`the key of this peel is not that of the enrollment ${id}`, options);
      case 404:
        throw ended(
          `no master knows the enrollment ${id} of this peel, or their version cannot recover credentials`,
          options,
        );
      case 403:
        throw await whyForbidden(options, key, String(answer.body.error ?? ""));
      default:
        throw refusal("the master refused to recover the credentials", answer);
    }
  }
}

const isSuspended = ({ status, body }: Answer): boolean =>
  status === 503 && / is suspended: /.test(String(body.error ?? ""));

const isLost = (error: unknown): boolean => /challenge/i.test(String(error ?? ""));

async function whyForbidden(
  options: RecoverCredentialsOptions,
  key: KeyPair,
  reason: string,
): Promise<EnrollmentEnded> {
  const { masters, attempts, enrollmentId: id } = options;
  const found = await findEnrollment(masters, key, attempts).catch(() => undefined);
  const state = found?.id === id ? found.state : undefined;
  switch (state) {
    case "revoked":
    case "rejected":
      return ended(`the enrollment ${id} of this peel was ${state}`, options, true);
    default:
      return new EnrollmentEnded(
        `the masters recover no credentials for the enrollment ${id}: ${reason || "refused"}`,
        `see svc enroll list --state all; if it is suspended, run svc enroll resume; otherwise run svc enroll revoke ${id}, and ${options.again}`,
      );
  }
}

function ended(message: string, { again }: RecoverCredentialsOptions, isOver = false): EnrollmentEnded {
  return new EnrollmentEnded(message, `if this host shall be a peel, ${again}`, isOver);
}
