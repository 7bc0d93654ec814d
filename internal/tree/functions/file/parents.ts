import { chmodSync, lchownSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { ArgSpec } from "../../../host/modules/mod.ts";
import { StateFailure } from "../../function/mod.ts";
import type { Attributes } from "./attributes.ts";
import { lookAt, touching } from "./look.ts";

export const makedirsArg = {
  type: "boolean",
  doc: "Creates missing parent directories, with the same owner; otherwise they must exist.",
} as const satisfies ArgSpec;

/** Default mode of a created directory. */
const newDirectoryMode = 0o755;

/** Missing parent directories, outermost first. */
function missingParents(path: string): string[] {
  const missing: string[] = [];
  for (let at = dirname(path); at !== "/" && lookAt(at) === undefined; at = dirname(at)) missing.unshift(at);
  return missing;
}

/**
 * Creates missing parent directories.
 *
 * @throws StateFailure when some are missing and `wished` is not true
 */
export function makeParents(path: string, wished: boolean | undefined, attributes: Attributes): void {
  const missing = missingParents(path);
  const [first] = missing;
  if (first === undefined) return;
  if (wished !== true) {
    throw new StateFailure(`the directory ${dirname(path)} does not exist; set makedirs: true to create it`);
  }
  for (const directory of missing) makeDirectory(directory, attributes);
}

/** Creates one directory. Sets the mode last, so that nobody can open it before it has its owner. */
export function makeDirectory(path: string, { uid, gid, mode }: Attributes): void {
  touching("create", path, () => {
    mkdirSync(path, { mode: 0o700 });
    if (uid !== undefined || gid !== undefined) lchownSync(path, uid ?? -1, gid ?? -1);
    chmodSync(path, mode ?? newDirectoryMode);
  });
}
