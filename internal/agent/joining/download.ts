import { decodeBase64, encodeBase64Url } from "../../base/base64.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import type { KeyPair } from "../../identity/mod.ts";
import { credentialsMessage } from "../../wire/enrollment-messages.ts";
import { type LearnedAdministrators, learnedIn } from "../trust/mod.ts";
import type { MasterClient } from "./master-client.ts";
import { CredentialsGone, refusal } from "./refusal.ts";

const contentionAttempts = 5;
const contentionPauseMs = 1_000;

/** The result of an enrollment. */
export interface Enrolled {
  enrollmentId: string;
  /** Text of the `.creds` file. Secret. */
  credentials: string;
  /** Public keys whose commands this peel accepts. */
  commandKeys: string[];
  /** Public keys whose succession this peel accepts. */
  recoveryKeys: string[];
  /** Whose operators this peel obeys. */
  administrators: LearnedAdministrators;
}

export interface DownloadOptions {
  masters: MasterClient;
  key: KeyPair;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Downloads the credentials of an approved enrollment. They are issued only once. If the response is lost,
 * the peel has no
 * credentials, and recovers them.
 *
 * @returns the credentials, or the state of the enrollment when it is not approved any longer; `gone` when
 * the
 *   masters do not have it
 * @throws CredentialsGone; SvcError `forbidden`
 */
export async function downloadCredentials(
  { masters, key, clock, signal }: DownloadOptions,
  id: string,
): Promise<Enrolled | string> {
  const authorization = `Nkey ${key.publicKey}:${encodeBase64Url(key.sign(credentialsMessage(id)))}`;
  for (let attempt = 1; ; attempt++) {
    const answer = await masters.request("GET", `/api/v1/enroll/${id}/creds`, {
      headers: { Authorization: authorization },
    });
    if (answer.status === 200) return readCredentials(id, answer.body);
    if (answer.status === 404) return "gone";
    if (answer.status !== 403 && answer.status !== 409) {
      throw refusal("the master refused the credentials", answer);
    }
    const status = await masters.request("GET", `/api/v1/enroll/${id}/status`);
    if (status.status === 404) return "gone";
    const state = String(status.body.state);
    // A concurrent writer changed the record, but nothing that matters here.
    if (state !== "approved") return state;
    if (attempt === contentionAttempts) throw refusal("the master refused the credentials", answer);
    await sleep(clock, contentionPauseMs * attempt, signal);
  }
}

function readCredentials(id: string, body: Record<string, unknown>): Enrolled {
  const credentials = decodeBase64(String(body.creds_data ?? ""));
  if (credentials === undefined || credentials.length === 0) throw new CredentialsGone(id);
  const text = Buffer.from(credentials).toString("utf8");
  return { enrollmentId: id, credentials: text, ...learnedIn(body, text) };
}
