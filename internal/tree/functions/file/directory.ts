import { basename } from "node:path";
import { shownText } from "../../../base/files/byte-text.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { arg } from "../../../host/modules/mod.ts";
import { type Changes, defineState, type Plan, type StateContext, StateFailure } from "../../function/mod.ts";
import {
  type Attributes,
  attributeChanges,
  attributesDiffer,
  attributesOf,
  missingNote,
  noAttributes,
  ownerArgs,
  requireOwner,
  setAttributes,
  setAttributesIn,
  setLinkOwner,
} from "./attributes.ts";
import { planClean } from "./clean.ts";
import { kindOf, realPathOf, statIfPresent, touching } from "./inspect.ts";
import { makeDirectoryIn, makedirsArg, openParents } from "./parents.ts";
import { pathOf } from "./path.ts";
import { followSymlinksArg } from "./plan-file.ts";
import { type Entry, walk } from "./walk.ts";

const recursions = ["user", "group", "mode", "ignore_files", "ignore_dirs"];
/** Maximum number of paths listed in the changes. */
const maxListed = 1_000;

export const fileDirectory = defineState({
  name: "file.directory",
  doc: "Ensures that a directory exists with this owner and mode; with recurse, also its contents.",
  args: {
    ...ownerArgs,
    mode: arg.mode("Permission bits; 0755 for a new directory by default."),
    dir_mode: arg.mode("Alias of mode."),
    file_mode: arg.mode("Permission bits of files below it, with recurse: [mode]."),
    recurse: arg.strings(
      "Attributes to apply to the contents too: user, group, mode; ignore_files and ignore_dirs exclude files or directories.",
    ),
    max_depth: arg.integer("Maximum depth of recurse; unlimited by default.", { min: 1 }),
    makedirs: makedirsArg,
    clean: arg.boolean(
      "Removes the contents, except paths that match exclude_pat and paths managed by other states of the run.",
    ),
    exclude_pat: arg.strings(
      "Paths that clean keeps, relative to the directory: globs, or regular expressions after E@.",
    ),
    force: arg.boolean("Replaces an existing file or symbolic link."),
    follow_symlinks: followSymlinksArg,
  },
  refuse({ recurse = [] }) {
    const unknown = recurse.find((each) => !recursions.includes(each));
    if (unknown !== undefined) return `recurse: expected a list of ${recursions.join(", ")}`;
    return undefined;
  },
  warn: ({ mode, dir_mode }) =>
    mode === undefined || dir_mode === undefined || mode === dir_mode
      ? undefined
      : "dir_mode is used, and mode is not; give only one of them",
  async plan(name, args, context) {
    const path = args.follow_symlinks === true ? realPathOf(pathOf(name)) : pathOf(name);
    const mode = args.dir_mode ?? args.mode;
    const attributes = await attributesOf({ user: args.user, group: args.group, mode }, context);
    const own = await planDirectory(
      { path, attributes, makedirs: args.makedirs, force: args.force },
      context,
    );
    const below = await belowOf(args, attributes, context);
    const isThere = statIfPresent(path)?.isDirectory() === true;
    const differing = isThere ? await differencesBelow(path, below, context) : {};
    const clean =
      args.clean === true && isThere
        ? planClean(path, args.exclude_pat, { files: [], directories: [] }, context)
        : undefined;
    const changes = bounded({ ...own.changes, ...differing, ...clean?.changes });
    if (Object.keys(changes).length === 0) return own;
    return {
      changes,
      comment: own.apply === undefined ? `The contents of ${path} would be corrected` : own.comment,
      apply: async () => {
        await own.apply?.();
        clean?.apply();
        if (isThere) setBelow(path, below);
        return { comment: `The directory ${path} was corrected` };
      },
    };
  },
});

/** Plans a directory without its contents. */
export async function planDirectory(
  wish: { path: string; attributes: Attributes; makedirs?: boolean | undefined; force?: boolean | undefined },
  context: StateContext,
): Promise<Plan> {
  const { path, attributes } = wish;
  const before = statIfPresent(path);
  const directory = before?.isDirectory() === true ? before : undefined;
  if (directory !== undefined && !attributesDiffer(directory, attributes)) {
    return { changes: {}, comment: `The directory ${path} is in the desired state` };
  }
  if (before !== undefined && directory === undefined && wish.force !== true) {
    const hint = before.isSymbolicLink()
      ? "set follow_symlinks: true to follow it, or force: true to replace it"
      : "set force: true to replace it";
    throw new StateFailure(`${path} is a ${kindOf(path, before)}; ${hint}`);
  }
  const changes: { [name: string]: Plain } = {};
  if (before === undefined) changes.created = true;
  else if (directory === undefined) changes.type = { old: kindOf(path, before), new: "directory" };
  Object.assign(changes, await attributeChanges(directory, attributes, context));
  const verb = directory === undefined ? "created" : "updated";
  return {
    changes: { [path]: changes },
    comment: `The directory ${path} would be ${verb}${missingNote(attributes)}`,
    apply: async () => {
      if (directory !== undefined) setAttributes(path, attributes);
      else {
        requireOwner(attributes);
        using parent = openParents(path, wish.makedirs, attributes);
        if (before !== undefined) touching("remove", path, () => parent.remove(basename(path)));
        makeDirectoryIn(parent, basename(path), attributes);
      }
      return { comment: `The directory ${path} was ${verb}` };
    },
  };
}

/** The desired attributes below a directory. */
interface Below {
  files: Attributes;
  directories: Attributes;
  depth: number | undefined;
}

async function belowOf(
  args: {
    recurse: string[] | undefined;
    file_mode: string | undefined;
    max_depth: number | undefined;
  },
  { uid, gid, mode, missing }: Attributes,
  context: StateContext,
): Promise<Below> {
  const { recurse = [] } = args;
  const owner = {
    uid: recurse.includes("user") ? uid : undefined,
    gid: recurse.includes("group") ? gid : undefined,
    missing: missing.filter((each) => recurse.includes(each.split(" ")[0] ?? "")),
  };
  const withMode = recurse.includes("mode");
  const files = await attributesOf({ mode: args.file_mode }, context);
  return {
    files: recurse.includes("ignore_files")
      ? noAttributes
      : { ...owner, mode: withMode ? files.mode : undefined },
    directories: recurse.includes("ignore_dirs")
      ? noAttributes
      : { ...owner, mode: withMode ? mode : undefined },
    depth: args.max_depth,
  };
}

function isNothing({ uid, gid, mode, missing }: Attributes): boolean {
  return uid === undefined && gid === undefined && mode === undefined && missing.length === 0;
}

/** Entries whose attributes differ, with the desired attributes. */
function* differing(path: string, { files, directories, depth }: Below): Generator<[Entry, Attributes]> {
  if (isNothing(files) && isNothing(directories)) return;
  for (const entry of walk(path, depth)) {
    const { stats } = entry;
    const wanted = stats.isDirectory() ? directories : files;
    // The mode of a symbolic link has no meaning, and opening a device or pipe may have side effects.
    const own = stats.isDirectory() || stats.isFile() ? wanted : { ...wanted, mode: undefined };
    if (attributesDiffer(entry.stats, own)) yield [entry, own];
  }
}

async function differencesBelow(path: string, below: Below, context: StateContext): Promise<Changes> {
  const changes: Changes = {};
  for (const [entry, wanted] of differing(path, below)) {
    changes[shownText(entry.path)] = await attributeChanges(entry.stats, wanted, context);
  }
  return changes;
}

function setBelow(path: string, below: Below): void {
  requireOwner(below.files);
  requireOwner(below.directories);
  for (const [entry, { uid, gid, mode }] of differing(path, below)) {
    const { directory, name } = entry;
    setLinkOwner(directory, name, { uid, gid });
    if (mode === undefined) continue;
    touching("change owner or mode of", entry.path, () =>
      setAttributesIn(directory, name, { ...noAttributes, mode }),
    );
  }
}

function bounded(changes: Changes): Changes {
  const entries = Object.entries(changes);
  if (entries.length <= maxListed) return changes;
  const more = `${entries.length - maxListed} more paths change`;
  return { ...Object.fromEntries(entries.slice(0, maxListed)), "…": more };
}
