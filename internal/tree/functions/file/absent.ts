import { rmSync, type Stats } from "node:fs";
import { rm } from "node:fs/promises";
import { isRootDirectory } from "../../../host/modules/mod.ts";
import { defineState, StateFailure } from "../../function/mod.ts";
import { failureOf, kindOf, lookAt, realPathOf, touching } from "./look.ts";
import { mountsAt } from "./mounts.ts";
import { pathOf, removalProblem } from "./path.ts";

export const fileAbsent = defineState({
  name: "file.absent",
  doc: "Ensures that a path does not exist. A directory is removed with its contents; of a symbolic link only the link is removed.",
  args: {},
  plan(name) {
    const path = pathOf(name);
    const before = lookAt(path);
    if (before === undefined) return { changes: {}, comment: `${path} does not exist` };
    const problem = problemOf(path, before);
    if (problem !== undefined) throw new StateFailure(problem);
    return {
      changes: { [path]: { removed: kindOf(path, before) } },
      comment: `${path} would be removed`,
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
  if (isRootDirectory(path)) return `${path} is the root directory and is never removed`;
  const [mount] = mountsAt(realPathOf(path));
  return mount === undefined
    ? undefined
    : `${path} is not removed, because a file system is mounted on ${mount}`;
}

async function removeDirectory(path: string): Promise<void> {
  try {
    // The runtime walks by open directory descriptors, so a link created meanwhile cannot redirect it.
    await rm(path, { recursive: true, force: true });
  } catch (cause) {
    throw failureOf("remove", path, cause);
  }
}
