import { dirname } from "node:path";
import { type OpenedDirectory, openDirectory } from "../../../base/files/opened-directory.ts";
import { arg } from "../../../host/modules/mod.ts";
import { StateFailure } from "../../function/mod.ts";
import type { Attributes } from "./attributes.ts";
import { touching } from "./inspect.ts";

export const makedirsArg = arg.boolean(
  "Creates missing parent directories, with the same owner; otherwise they must exist.",
);

/** Default mode of a created directory. */
const newDirectoryMode = 0o755;

/**
 * Opens the directory that contains a path, and creates missing directories.
 *
 * @throws StateFailure when some are missing and `wished` is not true
 */
export function openParents(
  path: string,
  wished: boolean | undefined,
  attributes: Attributes,
): OpenedDirectory {
  return touching("open the directory of", path, () =>
    openDirectory(dirname(path), (parent, name) => {
      if (wished !== true) {
        throw new StateFailure(
          `the directory ${dirname(path)} does not exist; set makedirs: true to create it`,
        );
      }
      makeDirectoryIn(parent, name, attributes);
    }),
  );
}

/** Creates one directory. Sets the mode last, so that nobody can open it before it has its owner. */
export function makeDirectoryIn(
  parent: OpenedDirectory,
  name: string,
  { uid, gid, mode }: Omit<Attributes, "missing">,
): void {
  touching("create", `${parent.path}/${name}`, () => {
    parent.makeDirectory(name, { uid, gid, mode: mode ?? newDirectoryMode });
  });
}
