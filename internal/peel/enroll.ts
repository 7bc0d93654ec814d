import { decodeBase64, encodeBase64, encodeBase64Url } from "../base/base64.ts";
import { type Clock, sleep } from "../base/clock.ts";
import { SvcError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { attestationMessage, credentialsMessage, enrollmentMessage } from "../enrollment/messages.ts";
import { deriveCurveKey } from "../identity/curve.ts";
import type { KeyPair } from "../identity/nkey.ts";
import { displayPeelId } from "../identity/peel-id.ts";
import type { Answer, MasterClient } from "./master-client.ts";

const challengeAttempts = 3;
const pollBaseMs = 10_000;
const pollCapMs = 5 * 60 * 1000;

export interface EnrollOptions {
  masters: MasterClient;
  peelId: string;
  key: KeyPair;
  hostname: string;
  metadata: Record<string, string>;
  clock: Clock;
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
}

/** What a peel has after enrollment. */
export interface Enrolled {
  /** Text of the `.creds` file; a secret. */
  credentials: string;
  /** Public keys whose commands this peel obeys. */
  commandKeys: string[];
}

/**
 * Enrolls this peel: proves the key, waits for an operator's decision however long it takes, and
 * downloads the credentials (specification, "Peel client behaviour").
 *
 * @throws SvcError `forbidden` when the decision was no, or the way is closed and an operator must act
 */
export async function enrollPeel(options: EnrollOptions): Promise<Enrolled> {
  const { log, peelId } = options;
  for (;;) {
    const id = await submit(options);
    log.info("enrollment pending: waiting for an operator's approval", {
      enrollment_id: id,
      peel_id: displayPeelId(peelId),
      command: `svc enroll approve ${id}`,
    });
    const state = await awaitDecision(options, id);
    switch (state) {
      case "approved":
        return download(options, id);
      case "rejected":
        throw new SvcError("forbidden", `the enrollment ${id} was rejected; start again to ask anew`);
      case "revoked":
        throw new SvcError("forbidden", `the enrollment ${id} was revoked; start again to ask anew`);
      case "issued":
      case "active":
        throw credentialsGone(id);
      default:
        log.warn("the enrollment is gone; enrolling again", { enrollment_id: id });
    }
  }
}

/** Proves the key and submits; a lost challenge is fetched again, up to three attempts in all. */
async function submit(options: EnrollOptions): Promise<string> {
  const { masters, peelId, key, log } = options;
  const curvePublicKey = deriveCurveKey(key).publicKey;
  for (let attempt = 1; ; attempt++) {
    const nonce = await masters.request(
      "GET",
      `/api/v1/enroll/nonce?${new URLSearchParams({ peel_id: peelId, public_key: key.publicKey })}`,
    );
    if (nonce.status !== 200) throw refusal("the master refused a challenge", nonce);
    const challenge = decodeBase64(String(nonce.body.challenge ?? ""));
    if (challenge?.length !== 32) throw new SvcError("unavailable", "the master sent a malformed challenge");
    const { spki } = await masters.anchor();
    const answer = await masters.request("POST", "/api/v1/enroll", {
      body: {
        peel_id: peelId,
        public_key: key.publicKey,
        curve_public_key: curvePublicKey,
        challenge_id: nonce.body.challenge_id,
        signature: encodeBase64(key.sign(enrollmentMessage(challenge, curvePublicKey))),
        hostname: options.hostname,
        metadata: options.metadata,
        ...(spki === undefined
          ? {}
          : {
              trusted_ca_spki: spki,
              trust_signature: encodeBase64(key.sign(attestationMessage(challenge, spki))),
            }),
      },
    });
    if (answer.status === 200 || answer.status === 201) {
      if (answer.body.key_mismatch === true) {
        throw new SvcError(
          "forbidden",
          `another key waits for approval as ${displayPeelId(peelId)}: if this host is the right one, run svc enroll reject ${answer.body.id} and start again`,
        );
      }
      return String(answer.body.id);
    }
    const lost = answer.status === 401 && answer.body.error === "challenge verification failed";
    if (lost && attempt < challengeAttempts) {
      log.warn("the challenge was lost; asking for a new one", { attempt });
      continue;
    }
    if (answer.status === 409) {
      throw new SvcError(
        "forbidden",
        `${displayPeelId(peelId)} is enrolled already (${String(answer.body.error ?? "")}): find it with svc enroll list --state all, revoke it with svc enroll revoke, and start again`,
      );
    }
    throw refusal("the master refused the enrollment", answer);
  }
}

/** Follows the status stream, and polls with growing pauses while there is none. */
async function awaitDecision(
  { masters, clock, jitter, log, signal }: EnrollOptions,
  id: string,
): Promise<string> {
  let state = "pending";
  for (let pauseMs = pollBaseMs; ; pauseMs = Math.min(pauseMs * 2, pollCapMs)) {
    const opened = await masters.stream(`/api/v1/enroll/${id}/stream`, (event, data) => {
      if (event === "state" && typeof data.state === "string") state = data.state;
    });
    if (state !== "pending") return state;
    // A stream that worked until its time limit is simply opened again, without growing pauses.
    if (opened) pauseMs = pollBaseMs;
    const waitMs = Math.round(pauseMs * (0.5 + jitter() / 2));
    log.debug("waiting for a decision", { enrollment_id: id, next_look_in_ms: waitMs });
    await sleep(clock, waitMs, signal);
    const status = await masters.request("GET", `/api/v1/enroll/${id}/status`);
    if (status.status === 404) return "gone";
    if (status.status !== 200) throw refusal("the master refused to tell the enrollment's state", status);
    state = String(status.body.state);
    if (state !== "pending") return state;
  }
}

async function download({ masters, key }: EnrollOptions, id: string): Promise<Enrolled> {
  const signature = encodeBase64Url(key.sign(credentialsMessage(id)));
  const answer = await masters.request("GET", `/api/v1/enroll/${id}/creds`, {
    headers: { Authorization: `Nkey ${key.publicKey}:${signature}` },
  });
  if (answer.status === 403 || answer.status === 409) throw credentialsGone(id);
  if (answer.status !== 200) throw refusal("the master refused the credentials", answer);
  const credentials = decodeBase64(String(answer.body.creds_data ?? ""));
  const commandKeys = answer.body.command_keys;
  if (credentials === undefined || credentials.length === 0) {
    throw new SvcError("unavailable", "the master sent malformed credentials");
  }
  return {
    credentials: Buffer.from(credentials).toString("utf8"),
    commandKeys: Array.isArray(commandKeys) ? commandKeys.filter((item) => typeof item === "string") : [],
  };
}

function credentialsGone(id: string): SvcError {
  return new SvcError(
    "forbidden",
    `the one-time credentials of ${id} were handed out already and are not here: run svc enroll revoke ${id} and start again`,
  );
}

function refusal(what: string, answer: Answer): SvcError {
  return new SvcError("forbidden", `${what}: ${String(answer.body.error ?? "")} (status ${answer.status})`);
}
