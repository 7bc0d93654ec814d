import { attempt, SvcError } from "../../base/errors.ts";
import { formatCredentials, isSignedJwt, type KeyPair, readClaims } from "../../identity/mod.ts";
import { type LearnedAdministrators, learnedIn } from "../trust/mod.ts";

/** What masters answer when they issue credentials for a key of the peel. */
export interface Issued {
  /** Text of the `.creds` file. Secret. */
  credentials: string;
  /** Public keys whose commands the peel accepts. */
  commandKeys: string[];
  /** Public keys whose succession the peel accepts. */
  recoveryKeys: string[];
  /** Whose operators the peel obeys. */
  administrators: LearnedAdministrators;
}

/**
 * Takes an answer that issues credentials, and joins the JWT with the key that never left this host.
 *
 * @throws SvcError `unavailable` when the answer contains no JWT for that key. The credentials in use are kept
 */
export function readIssued(answer: Readonly<Record<string, unknown>>, key: KeyPair): Issued {
  const { jwt } = answer;
  if (typeof jwt !== "string" || !isFor(jwt, key)) {
    throw new SvcError("unavailable", "the answer of the master has no signed JWT for the key of this peel");
  }
  const credentials = formatCredentials(jwt, key.seed);
  return { credentials, ...learnedIn(answer, credentials) };
}

function isFor(jwt: string, key: KeyPair): boolean {
  return attempt(() => readClaims(jwt).sub === key.publicKey && isSignedJwt(jwt), false);
}
