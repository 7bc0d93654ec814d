import { encodeBase64Url } from "../../base/base64.ts";
import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import type { KeyPair } from "../../identity/mod.ts";
import type { MasterClient } from "./master-client.ts";

/** The newest enrollment of a key. */
export interface FoundEnrollment {
  id: string;
  state: string;
}

/**
 * Asks the masters for the newest enrollment of this peel's key.
 *
 * @param attempts maximum number of failed requests
 * @returns `undefined` when they have none, or run a version that cannot tell
 * @throws SvcError `unavailable` when no master answers, TrustError
 */
export async function findEnrollment(
  masters: Pick<MasterClient, "request">,
  key: KeyPair,
  attempts: number,
): Promise<FoundEnrollment | undefined> {
  const signature = encodeBase64Url(key.sign(Buffer.from(key.publicKey, "latin1")));
  const { status, body } = await masters.request("GET", `/api/v1/enroll/by-key/${key.publicKey}`, {
    headers: { Authorization: `Nkey ${key.publicKey}:${signature}` },
    attempts,
  });
  if (status !== 200) return undefined;
  const { id, state } = body;
  if (typeof id !== "string" || !isId("enr", id) || typeof state !== "string") {
    throw new SvcError("unavailable", "the master sent a malformed answer about the enrollment of this key");
  }
  return { id, state };
}
