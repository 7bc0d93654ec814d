import { join } from "node:path";
import { arg } from "../../../host/modules/mod.ts";
import { type Changes, defineState, type Plan, type StateContext, StateFailure } from "../../function/mod.ts";
import { findSource, treePath } from "../sources/source.ts";
import { fileVariables } from "../sources/template-variables.ts";
import { attributesOf, ownerArgs } from "./attributes.ts";
import { planClean } from "./clean.ts";
import { planDirectory } from "./directory.ts";
import { statIfPresent } from "./inspect.ts";
import { keptMode, refuseMode, rendered, templateArgs } from "./managed.ts";
import { makedirsArg } from "./parents.ts";
import { pathOf } from "./path.ts";
import { readPatterns } from "./pattern.ts";
import { backupArg, planFile, refuseBackup, showChangesArg } from "./plan-file.ts";

export const fileRecurse = defineState({
  name: "file.recurse",
  doc: "Ensures that a directory contains the files of a directory of the environment.",
  args: {
    source: arg.string("Source directory in the environment: svc://path, salt://path.", { required: true }),
    ...ownerArgs,
    file_mode: arg.string(
      "Permission bits of the files, or keep for 0755 or 0644 as in the source; 0644 for new files by default.",
    ),
    dir_mode: arg.mode("Permission bits of the directories; 0755 for new directories by default."),
    keep_mode: arg.boolean("Alias of file_mode: keep."),
    ...templateArgs,
    include_pat: arg.strings(
      "Includes only matching files: globs, or regular expressions after E@, for paths relative to the source.",
    ),
    exclude_pat: arg.strings("Excludes matching files, also from clean."),
    clean: arg.boolean("Removes files that are neither in the source nor managed by other states."),
    replace: arg.boolean("Replaces the content of existing files; true by default."),
    makedirs: makedirsArg,
    backup: backupArg,
    show_changes: showChangesArg,
    keep_symlinks: arg.boolean("Of Salt: a published tree has no links, so there are none to keep."),
    force_symlinks: arg.boolean("Of Salt, with keep_symlinks."),
    include_empty: arg.boolean("Of Salt: a published tree has files alone, so it has no empty directories."),
    sym_mode: arg.string("Of Salt, with keep_symlinks."),
  },
  warn: warnOfSalt,
  refuse({ source, file_mode, keep_mode, backup }) {
    if (treePath(source) === undefined)
      return "source: expected a directory of the environment, such as svc://web";
    if (file_mode !== undefined && keep_mode !== undefined) return "give only one of file_mode, keep_mode";
    return refuseMode("file_mode", file_mode) ?? refuseBackup(backup);
  },
  async plan(name, args, context) {
    const path = pathOf(name);
    const top = (treePath(args.source) ?? "").replace(/\/+$/, "");
    const included = readPatterns(args.include_pat) ?? (() => true);
    const excluded = readPatterns(args.exclude_pat) ?? (() => false);
    const all = context.files.list(top).map((file) => file.slice(top === "" ? 0 : top.length + 1));
    if (all.length === 0) throw new StateFailure(`no files found below ${args.source}`);
    const files = all.filter((file) => included(file) && !excluded(file));
    const directories = parentsOf(files);
    const attributes = await attributesOf(
      { user: args.user, group: args.group, mode: args.dir_mode },
      context,
    );
    const plans: Plan[] = [await planDirectory({ path, attributes, makedirs: args.makedirs }, context)];
    for (const each of directories)
      plans.push(await planDirectory({ path: join(path, each), attributes }, context));
    const fileMode = args.keep_mode === true ? "keep" : args.file_mode;
    for (const file of files) {
      plans.push(
        await planOne(
          { ...args, file_mode: fileMode },
          `svc://${join(top, file)}`,
          join(path, file),
          context,
        ),
      );
    }
    const clean =
      args.clean === true && statIfPresent(path)?.isDirectory() === true
        ? planClean(path, args.exclude_pat, { files, directories }, context)
        : undefined;
    const due = plans.filter(({ apply }) => apply !== undefined);
    const changes: Changes = Object.assign({}, clean?.changes, ...due.map((plan) => plan.changes));
    if (due.length === 0 && Object.keys(changes).length === 0) {
      return { changes: {}, comment: `The directory ${path} is in the desired state` };
    }
    return {
      changes,
      comment: `The contents of ${path} would be updated`,
      apply: async () => {
        clean?.apply();
        const done: Changes = { ...clean?.changes };
        for (const plan of due) {
          try {
            await plan.apply?.();
          } catch (cause) {
            if (!(cause instanceof StateFailure)) throw cause;
            throw new StateFailure(cause.message, done, { cause });
          }
          Object.assign(done, plan.changes);
        }
        return { comment: `The contents of ${path} were updated` };
      },
    };
  },
});

/** What Salt takes from the directory of its master; a snapshot of files has neither. */
function warnOfSalt(args: {
  keep_symlinks: boolean | undefined;
  force_symlinks: boolean | undefined;
  include_empty: boolean | undefined;
}): string | undefined {
  if (args.keep_symlinks === true || args.force_symlinks === true)
    return "links of a tree are not published, so they do not arrive: make each with file.symlink";
  if (args.include_empty === true)
    return "empty directories of a tree are not published, so they do not arrive: make each with file.directory";
  return undefined;
}

async function planOne(
  args: {
    user: string | undefined;
    group: string | undefined;
    file_mode: string | undefined;
    template: string | undefined;
    context: Parameters<typeof rendered>[2] | undefined;
    defaults: Parameters<typeof rendered>[2] | undefined;
    replace: boolean | undefined;
    backup: string | undefined;
    show_changes: boolean | undefined;
  },
  name: string,
  path: string,
  context: StateContext,
): Promise<Plan> {
  const source = findSource([name], undefined, context);
  const mode = args.file_mode === "keep" ? keptMode(source) : args.file_mode;
  const content =
    args.template === undefined
      ? source.content
      : await rendered(
          name,
          source.content,
          { ...fileVariables(path, name, { ...args, mode }, context), ...args.defaults, ...args.context },
          context,
        );
  return planFile(
    {
      path,
      content,
      attributes: await attributesOf({ user: args.user, group: args.group, mode }, context),
      backup: args.backup,
      showChanges: args.show_changes,
      keepContent: args.replace === false,
    },
    context,
  );
}

/** All parent directories of the files, outermost first. */
function parentsOf(files: readonly string[]): string[] {
  const parents = files.flatMap((file) => {
    const parts = file.split("/").slice(0, -1);
    return parts.map((_, length) => parts.slice(0, length + 1).join("/"));
  });
  return [...new Set(parents)].sort();
}
