import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { type JoinToken, joinProof } from "../../identity/join-token/mod.ts";
import { deriveCurveKey, type KeyPair, keyFingerprint } from "../../identity/mod.ts";
import { attestationMessage, copyMessage, enrollmentMessage } from "../../wire/enrollment-messages.ts";
import type { Prove } from "../evidence/mod.ts";
import { awaitDecision } from "./await-decision.ts";
import { downloadCredentials, type Enrolled } from "./download.ts";
import { findEnrollment } from "./find-enrollment.ts";
import type { Answer, MasterClient } from "./master-client.ts";
import { CredentialsGone, refusal } from "./refusal.ts";

const challengeAttempts = 3;
/** How many failed requests may come before this peel gives up to look for its own enrollment. */
const lookups = 4;

export interface EnrollOptions {
  masters: MasterClient;
  peelId: string;
  key: KeyPair;
  /** The key of the peel that this host is a copy of. */
  copied?: KeyPair | undefined;
  hostname: string;
  metadata: Record<string, string>;
  /** Proves what this host is, in addition to its key; absent when nothing is configured. */
  prove?: Prove;
  /** What admits this host without an operator. */
  token?: Pick<JoinToken, "id" | "secret">;
  clock: Clock;
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
}

/**
 * Enrolls this peel: proves possession of the key, waits for an operator's decision without a timeout, and
 * downloads the credentials (specification, "Peel client behaviour").
 *
 * @throws CredentialsGone when they were issued before; SvcError `forbidden` when the enrollment was rejected, or an operator must act; TrustError when the
 *   verification of a master fails
 */
export async function enrollPeel(options: EnrollOptions): Promise<Enrolled> {
  const { log, peelId } = options;
  for (;;) {
    const requested = await submit(options);
    const { id } = requested;
    let { state } = requested;
    if (state === "pending") {
      log.info("enrollment pending: waiting for an operator's approval", {
        enrollment_id: id,
        peel_id: displayPeelId(peelId),
        fingerprint: keyFingerprint(options.key.publicKey),
        command: `svc enroll approve ${id}`,
      });
      state = await awaitDecision(options, id);
    }
    if (state === "approved") {
      const downloaded = await downloadCredentials(options, id);
      if (typeof downloaded !== "string") return downloaded;
      state = downloaded;
    }
    switch (state) {
      case "rejected":
        throw new SvcError(
          "forbidden",
          `the enrollment ${id} was rejected; restart the peel to enroll again`,
        );
      case "revoked":
        throw new SvcError("forbidden", `the enrollment ${id} was revoked; restart the peel to enroll again`);
      case "issued":
      case "active":
        throw new CredentialsGone(id);
      default:
        log.warn("the enrollment is gone; enrolling again", { enrollment_id: id });
    }
  }
}

/** Proves possession of the key and submits. Fetches a lost challenge again, up to three attempts in total. */
async function submit(options: EnrollOptions): Promise<{ id: string; state: string }> {
  const { masters, peelId, key, token, log } = options;
  const query = { peel_id: peelId, public_key: key.publicKey, ...defined({ token: token?.id }) };
  const curvePublicKey = deriveCurveKey(key).publicKey;
  for (let attempt = 1; ; attempt++) {
    const nonce = await masters.request("GET", `/api/v1/enroll/nonce?${new URLSearchParams(query)}`);
    if (nonce.status !== 200) throw refusal("the master refused the challenge request", nonce);
    const challenge = decodeBase64(String(nonce.body.challenge ?? ""));
    if (challenge?.length !== 32) throw new SvcError("unavailable", "the master sent a malformed challenge");
    const evidence = await options.prove?.({
      accepts: textsOf(nonce.body.evidence),
      challenge,
      publicKey: key.publicKey,
      credential: (keys) => requestCredential(options, nonce.body.challenge_id, keys),
    });
    const answer = await masters.request("POST", "/api/v1/enroll", {
      body: (trustedSpki) => ({
        peel_id: peelId,
        public_key: key.publicKey,
        curve_public_key: curvePublicKey,
        challenge_id: nonce.body.challenge_id,
        signature: encodeBase64(key.sign(enrollmentMessage(challenge, curvePublicKey))),
        hostname: options.hostname,
        metadata: { ...options.metadata, ...copyOf(options, challenge) },
        ...attest(key, challenge, trustedSpki),
        ...defined({ evidence }),
        ...proveToken(options, challenge),
      }),
    });
    if (answer.status === 200 || answer.status === 201) {
      if (answer.body.key_mismatch === true) {
        throw new SvcError(
          "forbidden",
          `an enrollment of ${displayPeelId(peelId)} with another key is pending (the key of this host is ${keyFingerprint(key.publicKey)}): if this host is the right one, run svc enroll reject ${answer.body.id} and restart the peel, or let it join with a token`,
        );
      }
      const { id, state = "pending" } = answer.body;
      return { id: String(id), state: String(state) };
    }
    if (isLost(answer) && attempt < challengeAttempts) {
      log.warn("the challenge was lost; asking for a new one", { attempt });
      continue;
    }
    if (answer.status === 413 && evidence !== undefined && attempt < challengeAttempts) {
      // Another master than the one of the challenge. The next challenge says what this one accepts.
      log.warn("the master has no room for evidence; asking for a new challenge", { attempt });
      continue;
    }
    if (answer.status === 409) {
      // The answer to an earlier attempt may have been lost, or this peel was stopped after it.
      const own = await findEnrollment(masters, key, lookups);
      if (own !== undefined && own.state !== "revoked" && own.state !== "rejected") return own;
      throw new SvcError(
        "forbidden",
        `${displayPeelId(peelId)} is already enrolled (${String(answer.body.error ?? "")}): find it with svc enroll list --state all, revoke it with svc enroll revoke, or give this host another id if both are there, and restart the peel`,
      );
    }
    throw ofToken(options, answer) ?? refusal("the master refused the enrollment", answer);
  }
}

/** Asks for a secret that only the TPM of this host can open, in the same challenge. */
async function requestCredential(
  { masters, peelId, key }: EnrollOptions,
  challengeId: unknown,
  keys: { ek_certificate: string; ak_public: string },
) {
  const answer = await masters.request("POST", "/api/v1/enroll/tpm", {
    body: () => ({ peel_id: peelId, public_key: key.publicKey, challenge_id: challengeId, ...keys }),
  });
  // Another master, which accepts no TPM, or a challenge that is lost: the enrollment finds out as well.
  if (answer.status === 404 || isLost(answer)) return undefined;
  const { credential_blob, encrypted_secret } = answer.body;
  if (typeof credential_blob !== "string" || typeof encrypted_secret !== "string") {
    throw refusal("the master refused the TPM of this host", answer);
  }
  return { credential_blob, encrypted_secret };
}

function isLost({ status, body }: Answer): boolean {
  return status === 401 && body.error === "challenge verification failed";
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}

/** Proves of which peel this host is a copy. It is in what every version of masters takes. */
function copyOf({ copied, key }: EnrollOptions, challenge: Uint8Array) {
  if (copied === undefined) return {};
  const signature = encodeBase64(copied.sign(copyMessage(challenge, key.publicKey)));
  return { copy_of: { public_key: copied.publicKey, signature } };
}

/** The proof of the token; empty without one. */
function proveToken(
  { token, key }: EnrollOptions,
  challenge: Uint8Array,
): { token?: Record<string, string> } {
  if (token === undefined) return {};
  const proof = encodeBase64(joinProof(token.secret, challenge, key.publicKey));
  return { token: { id: token.id, proof } };
}

/** A refusal of the token, with what to do; `undefined` for another one. */
function ofToken({ token, peelId }: EnrollOptions, { status, body }: Answer): SvcError | undefined {
  const error = String(body.error ?? "");
  if (token === undefined || !error.startsWith("join token")) return undefined;
  const next =
    status === 401
      ? "copy the whole line that svc enroll token create printed, for this fleet"
      : "make another one with svc enroll token create";
  return new SvcError(
    "forbidden",
    `the masters do not admit ${displayPeelId(peelId)}: ${error} (${token.id}); ${next}`,
  );
}

/** The attestation of the root that verified the master. Empty when that root is unknown. */
function attest(key: KeyPair, challenge: Uint8Array, spki: string | undefined): Record<string, string> {
  if (spki === undefined) return {};
  return {
    trusted_ca_spki: spki,
    trust_signature: encodeBase64(key.sign(attestationMessage(challenge, spki))),
  };
}
