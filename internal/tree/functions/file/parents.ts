import { chmodSync, lchownSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { ArgSpec } from "../../../host/modules/function.ts";
import { StateFailure } from "../../function/function.ts";
import type { Attributes } from "./attributes.ts";
import { lookAt, touching } from "./look.ts";

export const makedirsArg = {
  type: "boolean",
  doc: "Makes missing parent directories, with the same owner; otherwise they must be there.",
} as const satisfies ArgSpec;

/** Mode of a directory that a state makes and says nothing of. */
const newDirectoryMode = 0o755;

/** Parent directories that are not there, outermost first. */
function missingParents(path: string): string[] {
  const missing: string[] = [];
  for (let at = dirname(path); at !== "/" && lookAt(at) === undefined; at = dirname(at)) missing.unshift(at);
  return missing;
}

/**
 * Makes the parent directories that are missing.
 *
 * @throws StateFailure when there are some and they are not to be made
 */
export function makeParents(path: string, wished: boolean | undefined, attributes: Attributes): void {
  const missing = missingParents(path);
  const [first] = missing;
  if (first === undefined) return;
  if (wished !== true) {
    throw new StateFailure(`the directory ${dirname(path)} is missing: makedirs: true makes it`);
  }
  for (const directory of missing) makeDirectory(directory, attributes);
}

/** Makes one directory; it gets its mode last, so that nobody opens it before it has its owner. */
export function makeDirectory(path: string, { uid, gid, mode }: Attributes): void {
  touching("make", path, () => {
    mkdirSync(path, { mode: 0o700 });
    if (uid !== undefined || gid !== undefined) lchownSync(path, uid ?? -1, gid ?? -1);
    chmodSync(path, mode ?? newDirectoryMode);
  });
}
