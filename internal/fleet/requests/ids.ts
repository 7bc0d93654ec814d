import { keyedId } from "../../base/id.ts";
import { sha256 } from "../../base/sha256.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { openRequest } from "../../wire/signed-request.ts";

/**
 * The id of what a signed request creates. It follows from the request: when an attacker who controls the bus makes a second
 * master take the same request, that master creates the same thing, which peels have done already.
 *
 * @param request verified before
 * @throws SvcError `unauthorized` when it is malformed
 */
export function idOfRequest(
  prefix: "job" | "rol" | "tok" | "jtk",
  { envelope }: { envelope: Uint8Array },
  mac: RecordMac,
): string {
  // Not the signature: there may be another one of the same bytes.
  const { key, nonce, sentAt, body } = openRequest(envelope);
  return keyedId(prefix, sentAt, mac("signed-request", [prefix, key, nonce, sha256(body)]));
}
