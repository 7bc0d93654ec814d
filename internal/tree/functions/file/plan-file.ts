import type { Stats } from "node:fs";
import { basename } from "node:path";
import type { Plain } from "../../../base/msgpack.ts";
import { arg } from "../../../host/modules/mod.ts";
import {
  describeChange,
  describeSizes,
  maxDiffInput,
  type Plan,
  type StateContext,
  StateFailure,
} from "../../function/mod.ts";
import {
  type Attributes,
  attributeChanges,
  attributesDiffer,
  missingNote,
  modeBits,
  requireOwner,
  setAttributes,
} from "./attributes.ts";
import { type Content, hasContent } from "./content.ts";
import { kindOf, readEntry, readRegular, realPathOf, statIfPresent, touching } from "./inspect.ts";
import { openParents } from "./parents.ts";
import { putFile } from "./put.ts";

/** The desired state of a file. */
export interface FileWish {
  path: string;
  /** `undefined` leaves the content unchanged. */
  content: Content | undefined;
  attributes: Attributes;
  /** Whether to create missing parents, and with which mode. */
  makedirs?: boolean | undefined;
  dirMode?: string | undefined;
  /** Writes to the target of a symbolic link, instead of replacing the link. */
  followSymlinks?: boolean | undefined;
  /** Suffix of the backup copy of the previous file: `.bak`. */
  backup?: string | undefined;
  /** `undefined` shows changes that cannot contain a secret. */
  showChanges?: boolean | undefined;
  /** Checks the new file before it replaces the old one. */
  check?: ((temporary: string) => Promise<void>) | undefined;
  /** Changes only owner and mode of an existing file. */
  keepContent?: boolean | undefined;
}

export const showChangesArg = arg.boolean(
  "Shows the changed lines. By default they are hidden if they come from the settings or if the file is not readable by everyone.",
);

export const backupArg = arg.string("Suffix of a backup copy of the previous file, such as .bak.");

export const followSymlinksArg = arg.boolean("Follows a symbolic link and changes its target.");

/** The problem with the `backup` of a state, if any. */
export function refuseBackup(backup: string | undefined): string | undefined {
  if (backup === undefined || /^\.[A-Za-z0-9._@:+-]{1,64}$/.test(backup)) return undefined;
  return "backup: expected a file name suffix, such as .bak";
}

const newFileMode = 0o644;
const everybodyReads = 0o004;
const hidden = {
  requested: "not shown: show_changes is false",
  secret: "not shown: comes from the settings; set show_changes: true to show it",
  mode: "not shown: the file is not readable by everyone; set show_changes: true to show it",
};

/** Plans the change of a file to its desired state. */
export async function planFile(wish: FileWish, context: StateContext): Promise<Plan> {
  const path = wish.followSymlinks === true ? realPathOf(wish.path) : wish.path;
  const before = statIfPresent(path);
  if (before !== undefined && !before.isFile() && !before.isSymbolicLink()) {
    throw new StateFailure(`${path} is a ${kindOf(path, before)} and is not replaced by a file`);
  }
  const file = before?.isFile() === true ? before : undefined;
  const content = file !== undefined && wish.keepContent === true ? undefined : wish.content;
  const same = file !== undefined && (content === undefined || (await hasContent(path, file, content)));
  if (same && !attributesDiffer(file, wish.attributes)) {
    return { changes: {}, comment: `The file ${path} is in the desired state` };
  }
  const changes: { [name: string]: Plain } = {};
  if (before === undefined) changes.created = true;
  else if (file === undefined) changes.type = { old: kindOf(path, before), new: "file" };
  if (!same) changes.diff = await diffOf(path, file, { ...wish, content });
  Object.assign(changes, await attributeChanges(file, wish.attributes, context));
  const verb = before === undefined ? "created" : "updated";
  const copy = same || file === undefined || wish.backup === undefined ? undefined : `${path}${wish.backup}`;
  return {
    changes: { [path]: changes, ...(copy === undefined ? {} : { [copy]: { copy_of: path } }) },
    comment: `The file ${path} would be ${verb}${missingNote(wish.attributes)}`,
    async apply() {
      if (same) setAttributes(path, wish.attributes);
      else await write(path, file, copy, { ...wish, content });
      return { comment: `The file ${path} was ${verb}` };
    },
  };
}

/** @param copy path of the backup copy */
async function write(
  path: string,
  file: Stats | undefined,
  copy: string | undefined,
  wish: FileWish,
): Promise<void> {
  requireOwner(wish.attributes);
  const { uid, gid, mode } = wish.attributes;
  const attributes: Attributes = {
    uid: uid ?? file?.uid,
    gid: gid ?? file?.gid,
    mode: mode ?? (file === undefined ? newFileMode : file.mode & 0o7777),
    missing: [],
  };
  const data = wish.content === undefined ? new Uint8Array() : await wish.content.bytes();
  const dirMode = wish.dirMode === undefined ? undefined : modeBits(wish.dirMode);
  using directory = openParents(path, wish.makedirs, { ...wish.attributes, mode: dirMode });
  if (file !== undefined && copy !== undefined) {
    const { uid, gid, mode } = file;
    const before = touching("read", path, () => readEntry(directory, basename(path)));
    await putFile(directory, copy, before, { uid, gid, mode: mode & 0o7777, missing: [] });
  }
  await putFile(directory, path, data, attributes, wish.check);
}

async function diffOf(path: string, file: Stats | undefined, wish: FileWish): Promise<Plain> {
  const { content, showChanges } = wish;
  const why = reasonToHide(file, wish);
  if (why !== undefined) return why;
  if (content === undefined) return describeChange(path, undefined, new Uint8Array());
  const large = Math.max(content.size ?? 0, file?.size ?? 0) > maxDiffInput;
  if (large || (content.size === undefined && showChanges !== true)) {
    return describeSizes(file?.size, content.size);
  }
  const old = file === undefined ? undefined : readRegular(path);
  return describeChange(path, old, await content.bytes());
}

/** Secrets must not be part of the result of a run, which is sent and stored. */
function reasonToHide(
  file: Stats | undefined,
  { content, attributes, showChanges }: FileWish,
): string | undefined {
  if (showChanges !== undefined) return showChanges ? undefined : hidden.requested;
  if (content?.secret === true) return hidden.secret;
  const modes = [file?.mode ?? everybodyReads, attributes.mode ?? file?.mode ?? newFileMode];
  return modes.every((mode) => (mode & everybodyReads) !== 0) ? undefined : hidden.mode;
}
