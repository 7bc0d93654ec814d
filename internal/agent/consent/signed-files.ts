import { filesOfCall } from "../../host/modules/mod.ts";
import type { Call } from "../../wire/call.ts";
import { shortSnapshot } from "../../wire/content-words.ts";
import { refuse } from "./refusal.ts";

/**
 * Verifies that a command runs the state files that its operator signed. Without this, an attacker who controls a master chooses
 * what the name of an environment means, and runs anything under a request for the highstate.
 *
 * @param signed the digest in the signed request
 */
export function checkFiles(
  { function: name, args, content }: Pick<Call, "function" | "args" | "content">,
  signed: Uint8Array | undefined,
  who: string,
): void {
  const files = filesOfCall(name, args);
  if (files === undefined) return;
  if (signed === undefined) {
    refuse(`${who} did not sign which state files ${name} uses (snapshot): ask again with a newer svc`);
  }
  if (content === undefined) {
    refuse(
      `the command does not name the state files that ${who} signed: the masters have an earlier version`,
    );
  }
  const { environment, snapshot } = content;
  if (environment !== files.environment) {
    refuse(`${who} signed state files of ${files.environment}, and the command has those of ${environment}`);
  }
  const meant = Buffer.from(signed).toString("hex");
  if (snapshot === meant) return;
  refuse(
    `${who} signed the state files ${shortSnapshot(meant)}, and the command has ${shortSnapshot(snapshot)}`,
  );
}
