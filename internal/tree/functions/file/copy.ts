import { readFileSync } from "node:fs";
import { openForReading } from "../../../base/files/open-for-reading.ts";
import { arg } from "../../../host/modules/mod.ts";
import { defineState } from "../../function/mod.ts";
import { attributesOf, modeText, ownerArgs } from "./attributes.ts";
import { contentOf } from "./content.ts";
import { statIfPresent, touching } from "./inspect.ts";
import { makedirsArg } from "./parents.ts";
import { pathOf } from "./path.ts";
import { planFile, showChangesArg } from "./plan-file.ts";

export const fileCopy = defineState({
  name: "file.copy",
  doc: "Ensures that a file exists, and creates it as a copy of another file on this host.",
  args: {
    source: arg.path("The file to copy.", { required: true }),
    force: arg.boolean("Also overwrites an existing file that differs from the source."),
    preserve: arg.boolean("Copies owner and mode of the source, unless they are given."),
    ...ownerArgs,
    mode: arg.mode("Permission bits; those of the source by default."),
    makedirs: makedirsArg,
    show_changes: showChangesArg,
  },
  async plan(name, args, context) {
    const path = pathOf(name);
    if (args.force !== true && statIfPresent(path) !== undefined) {
      return { changes: {}, comment: `${path} exists` };
    }
    using source = touching("read", args.source, () => openForReading(args.source));
    const { stats } = source;
    const wanted = await attributesOf({ ...args, mode: args.mode ?? modeText(stats.mode & 0o777) }, context);
    const preserved = args.preserve === true ? { uid: stats.uid, gid: stats.gid } : undefined;
    return planFile(
      {
        path,
        content: contentOf(readFileSync(source.file)),
        attributes: { ...wanted, uid: wanted.uid ?? preserved?.uid, gid: wanted.gid ?? preserved?.gid },
        makedirs: args.makedirs,
        showChanges: args.show_changes,
      },
      context,
    );
  },
});
