import { closeSync, constants, futimesSync } from "node:fs";
import { basename } from "node:path";
import { openParent } from "../../../base/files/opened-directory.ts";
import { arg } from "../../../host/modules/mod.ts";
import { defineState, StateFailure } from "../../function/mod.ts";
import { noAttributes } from "./attributes.ts";
import { kindOf, statIfPresent, touching } from "./inspect.ts";
import { makedirsArg } from "./parents.ts";
import { pathOf } from "./path.ts";
import { planFile } from "./plan-file.ts";

const time = (what: string) => arg.integer(`Time of the last ${what}, in seconds since 1970.`, { min: 0 });

export const fileTouch = defineState({
  name: "file.touch",
  doc: "Ensures that a file exists, and creates it empty. The timestamps of an existing file are changed only to those that are given.",
  args: { makedirs: makedirsArg, atime: time("access"), mtime: time("change") },
  async plan(name, { makedirs, atime, mtime }, context) {
    const path = pathOf(name);
    const before = statIfPresent(path);
    if (before?.isFile() === false) throw new StateFailure(`${path} is a ${kindOf(path, before)}`);
    const plan = await planFile({ path, content: undefined, attributes: noAttributes, makedirs }, context);
    const seconds = (ms: number | undefined) => (ms === undefined ? undefined : Math.floor(ms / 1000));
    const [read, changed] = [seconds(before?.atimeMs), seconds(before?.mtimeMs)];
    const due = [
      ...(atime === undefined || atime === read
        ? []
        : [["atime", { old: read ?? null, new: atime }] as const]),
      ...(mtime === undefined || mtime === changed
        ? []
        : [["mtime", { old: changed ?? null, new: mtime }] as const]),
    ];
    if (due.length === 0) return plan;
    const found = plan.changes[path];
    const changes = { [path]: { ...(typeof found === "object" ? found : {}), ...Object.fromEntries(due) } };
    return {
      changes,
      comment: before === undefined ? plan.comment : `The times of ${path} would be set`,
      async apply() {
        await plan.apply?.();
        touching("set the times of", path, () => {
          using directory = openParent(path);
          const file = directory.openFile(basename(path), constants.O_RDONLY);
          const now = context.clock.now() / 1000;
          try {
            futimesSync(file, atime ?? read ?? now, mtime ?? changed ?? now);
          } finally {
            closeSync(file);
          }
        });
        return { comment: `The file ${path} was touched` };
      },
    };
  },
});
