import type { Stats } from "node:fs";
import { basename } from "node:path";
import { isErrno } from "../../../base/files/file.ts";
import { type OpenedDirectory, openParent } from "../../../base/files/opened-directory.ts";
import { arg } from "../../../host/modules/mod.ts";
import { defineState, StateFailure } from "../../function/mod.ts";
import { noAttributes } from "./attributes.ts";
import { failureOf, kindOf, readEntry, statIfPresent, touching } from "./inspect.ts";
import { makedirsArg, openParents } from "./parents.ts";
import { pathOf, removalProblem } from "./path.ts";
import { putFile } from "./put.ts";

export const fileRename = defineState({
  name: "file.rename",
  doc: "Ensures that a file or directory that exists at source is at this path instead. Does nothing if source does not exist.",
  args: {
    source: arg.path("The path to move away.", { required: true }),
    force: arg.boolean("Replaces an existing file."),
    makedirs: makedirsArg,
  },
  plan(name, { source, force, makedirs }) {
    const [path, from] = [pathOf(name), pathOf(source)];
    const problem = removalProblem(from);
    if (problem !== undefined) throw new StateFailure(problem);
    const found = statIfPresent(from);
    if (found === undefined) return { changes: {}, comment: `${from} does not exist and is not moved` };
    const there = statIfPresent(path);
    if (there !== undefined && force !== true) {
      return { changes: {}, comment: `${path} exists and is not replaced; set force: true to replace it` };
    }
    if (there?.isDirectory() === true) {
      throw new StateFailure(`${path} is a ${kindOf(path, there)} and is not replaced`);
    }
    if (path.startsWith(`${from}/`)) throw new StateFailure(`${path} is inside ${from}`);
    return {
      changes: { [path]: { moved_from: from }, [from]: { moved_to: path } },
      comment: `${from} would be moved to ${path}`,
      async apply() {
        using target = openParents(path, makedirs, noAttributes);
        using directory = touching("open the directory of", from, () => openParent(from));
        const entry = directory.stats(basename(from));
        if (entry === undefined) throw new StateFailure(`${from} does not exist any more`);
        if (!directory.isFixed(entry) && target.isTrusted(target.own.uid) && target.isFixed(target.own)) {
          throw new StateFailure(
            `${from} can be replaced by another user and is not moved to ${target.path}; copy it with file.managed and source_hash`,
          );
        }
        await move(from, entry, directory, path, target);
        return { comment: `${from} was moved to ${path}` };
      },
    };
  },
});

/** Moves an entry, also to another file system when it is a regular file. */
async function move(
  from: string,
  entry: Stats,
  directory: OpenedDirectory,
  path: string,
  target: OpenedDirectory,
): Promise<void> {
  try {
    directory.move(basename(from), target, basename(path));
  } catch (cause) {
    if (!isErrno(cause, "EXDEV")) throw failureOf("move", from, cause);
    if (!entry.isFile()) {
      throw new StateFailure(`${from} is a ${kindOf(from, entry)} on another file system than ${path}`);
    }
    const { uid, gid, mode } = entry;
    const data = touching("read", from, () => readEntry(directory, basename(from)));
    await putFile(target, path, data, { uid, gid, mode: mode & 0o7777, missing: [] });
    touching("remove", from, () => directory.remove(basename(from)));
  }
}
