import { SvcError } from "../../base/errors.ts";
import { decodePublicKey } from "../mod.ts";

/**
 * The public recovery keys in a file: one a line.
 *
 * @param path for the message
 * @throws SvcError `bad_request` when the text is something else
 */
export function parseRecoveryKeys(path: string, text: string): string[] {
  const lines = text.split("\n").filter((line) => line !== "");
  if (lines.length === 0 || lines.some((line) => decodePublicKey("user", line) === undefined)) {
    throw new SvcError(
      "bad_request",
      `${path} does not contain the public key of a recovery key, one a line`,
    );
  }
  return [...new Set(lines)];
}
