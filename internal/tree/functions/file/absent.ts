import { rmSync, type Stats } from "node:fs";
import { rm } from "node:fs/promises";
import { isRootDirectory } from "../../../host/modules/file-write.ts";
import { defineState } from "../../function/define.ts";
import { StateFailure } from "../../function/function.ts";
import { failureOf, kindOf, lookAt, realPathOf, touching } from "./look.ts";
import { mountsAt } from "./mounts.ts";
import { pathOf, removalProblem } from "./path.ts";

export const fileAbsent = defineState({
  name: "file.absent",
  doc: "Nothing has this name. A directory is removed with everything in it, a symbolic link without what it leads to.",
  args: {},
  plan(name) {
    const path = pathOf(name);
    const before = lookAt(path);
    if (before === undefined) return { changes: {}, comment: `${path} is not there` };
    const problem = problemOf(path, before);
    if (problem !== undefined) throw new StateFailure(problem);
    return {
      changes: { [path]: { removed: kindOf(path, before) } },
      comment: `${path} is to be removed`,
      apply: async () => {
        if (before.isDirectory()) await removeDirectory(path);
        else touching("remove", path, () => rmSync(path, { force: true }));
        return { comment: `${path} was removed` };
      },
    };
  },
});

function problemOf(path: string, stats: Stats): string | undefined {
  const problem = removalProblem(path);
  if (problem !== undefined || !stats.isDirectory()) return problem;
  if (isRootDirectory(path)) return `${path} is the root directory, and is not removed`;
  const [mount] = mountsAt(realPathOf(path));
  return mount === undefined ? undefined : `a file system is mounted on ${mount}, so ${path} is not removed`;
}

async function removeDirectory(path: string): Promise<void> {
  try {
    // Below the directory the runtime goes by open directories, so no link that is put there leads it away.
    await rm(path, { recursive: true, force: true });
  } catch (cause) {
    throw failureOf("remove", path, cause);
  }
}
