import type { Stats } from "node:fs";
import { basename } from "node:path";
import { openParent } from "../../../base/files/opened-directory.ts";
import { isRootDirectory } from "../../../host/modules/mod.ts";
import { defineState, StateFailure } from "../../function/mod.ts";
import { failureOf, kindOf, realPathOf, statIfPresent } from "./inspect.ts";
import { mountsAt } from "./mounts.ts";
import { pathOf, removalProblem } from "./path.ts";

export const fileAbsent = defineState({
  name: "file.absent",
  doc: "Ensures that a path does not exist. A directory is removed with its contents; of a symbolic link only the link is removed.",
  args: {},
  plan(name) {
    const path = pathOf(name);
    const before = statIfPresent(path);
    if (before === undefined) return { changes: {}, comment: `${path} does not exist` };
    const problem = problemOf(path, before);
    if (problem !== undefined) throw new StateFailure(problem);
    return {
      changes: { [path]: { removed: kindOf(path, before) } },
      comment: `${path} would be removed`,
      apply: async () => {
        await remove(path, before.isDirectory());
        return { comment: `${path} was removed` };
      },
    };
  },
});

function problemOf(path: string, stats: Stats): string | undefined {
  const problem = removalProblem(path);
  if (problem !== undefined || !stats.isDirectory()) return problem;
  if (isRootDirectory(path)) return `${path} is the root directory and is never removed`;
  const [mount] = mountsAt(realPathOf(path));
  return mount === undefined
    ? undefined
    : `${path} is not removed, because a file system is mounted on ${mount}`;
}

async function remove(path: string, isDirectory: boolean): Promise<void> {
  try {
    using directory = openParent(path);
    if (isDirectory) await directory.removeTreeSlowly(basename(path));
    else directory.remove(basename(path));
  } catch (cause) {
    throw failureOf("remove", path, cause);
  }
}
