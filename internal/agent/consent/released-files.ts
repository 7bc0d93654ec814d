import { type FilesOfCall, filesOfCall } from "../../host/modules/mod.ts";
import type { Call } from "../../wire/call.ts";
import type { Content } from "../../wire/content.ts";
import { localCommit } from "../../wire/content-words.ts";
import { adminRole, type Operator } from "../../wire/operator-standing.ts";
import { mayRelease } from "../releases/mod.ts";
import { refuse, refuseWhole } from "./refusal.ts";
import type { Rules } from "./signer.ts";

// A stolen master publishes any files. So on a peel that obeys operators only, people say which files run: each
// snapshot that runs was released by an operator, or is named in a request that one signed as unreleased.

/**
 * The files of a call that no operator signed: those of the newest release, and no others.
 *
 * @returns the call with exactly these files
 */
export function withNewestRelease(call: Call, { releases }: Pick<Rules, "releases">): Call {
  const files = filesOfCall(call.function, call.args);
  if (files === undefined) return call;
  const newest = releases.newest(files.environment);
  if ("reason" in newest) return notReleased(newest.reason);
  const { version, snapshot } = newest.release;
  const { environment } = files;
  if (!isOf(call.content, files, snapshot)) {
    refuseWhole(`not run: these state files are not those of release ${version} of ${environment}`);
  }
  return call.content === undefined
    ? { ...call, content: { environment, commit: localCommit, snapshot } }
    : call;
}

/** A commit alone cannot be compared with a release: only a command says which files it means. */
function isOf(content: Content | undefined, { environment, commit }: FilesOfCall, snapshot: string): boolean {
  if (content === undefined) return commit === undefined;
  return content.environment === environment && content.snapshot === snapshot;
}

/** Verifies that the files of a signed request are released, or that its signer may run others and signed that it does. */
export function checkReleased(
  { function: name, args, content, release }: Call,
  isUnreleased: boolean,
  { name: who, roles }: Operator,
  { releases, releaseRoles }: Pick<Rules, "releases" | "releaseRoles">,
): void {
  if (filesOfCall(name, args) === undefined) return;
  if (isUnreleased) {
    if (mayRelease(roles, releaseRoles)) return;
    refuse(
      `${who} signed state files that are not released, and has none of the roles ${[adminRole, ...releaseRoles].join(", ")} (release_roles)`,
    );
  }
  if (content === undefined) notReleased("the command does not name them");
  const allowed = releases.allows(content, {
    releases: release === undefined ? [] : [release.bytes],
    records: release?.records ?? [],
  });
  if (allowed !== true) notReleased(allowed.reason);
}

function notReleased(reason: string | undefined): never {
  const detail = reason === undefined ? "" : `: ${reason}`;
  return refuseWhole(`not run, because no operator released these state files${detail}`);
}
