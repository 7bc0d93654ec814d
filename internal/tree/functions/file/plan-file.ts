import type { Stats } from "node:fs";
import type { Plain } from "../../../base/msgpack.ts";
import type { ArgSpec } from "../../../host/modules/function.ts";
import { describeChange, describeSizes, maxDiffInput } from "../../function/diff.ts";
import { type Plan, type StateContext, StateFailure } from "../../function/function.ts";
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
import { kindOf, lookAt, readRegular, realPathOf } from "./look.ts";
import { makeParents } from "./parents.ts";
import { putFile } from "./put.ts";

/** What a file is to be like. */
export interface FileWish {
  path: string;
  /** `undefined` leaves the content as it is. */
  content: Content | undefined;
  attributes: Attributes;
  /** Whether missing parents are made, and with which mode. */
  makedirs?: boolean | undefined;
  dirMode?: string | undefined;
  /** Writes to the file that a symbolic link leads to, instead of replacing the link. */
  followSymlinks?: boolean | undefined;
  /** What is appended to the name of a copy of the file as it was: `.bak`. */
  backup?: string | undefined;
  /** `undefined` shows what no secret can be in. */
  showChanges?: boolean | undefined;
  /** Looks at the new file before it takes its place. */
  check?: ((temporary: string) => Promise<void>) | undefined;
  /** Only the owner and mode of what is there already are set right. */
  keepContent?: boolean | undefined;
}

export const showChangesArg = {
  type: "boolean",
  doc: "Shows the lines that change. By default they are shown unless they come from the settings, or not everybody on the host may read the file.",
} as const satisfies ArgSpec;

export const backupArg = {
  type: "string",
  doc: "Keeps the file as it was beside it, under its name with this added, such as .bak.",
} as const satisfies ArgSpec;

export const followSymlinksArg = {
  type: "boolean",
  doc: "Goes to the file that a symbolic link leads to.",
} as const satisfies ArgSpec;

/** What is wrong with the `backup` of a state. */
export function refuseBackup(backup: string | undefined): string | undefined {
  if (backup === undefined || /^\.[A-Za-z0-9._-]{1,32}$/.test(backup)) return undefined;
  return "backup: expected what is added to the name of the copy, such as .bak";
}

const newFileMode = 0o644;
const everybodyReads = 0o004;
const hidden = {
  asked: "not shown: show_changes is false",
  secret: "not shown: it comes from the settings; show_changes: true shows it",
  mode: "not shown: not everybody may read the file; show_changes: true shows it",
};

/** Plans how a file comes to be what it is to be like. */
export async function planFile(wish: FileWish, context: StateContext): Promise<Plan> {
  const path = wish.followSymlinks === true ? realPathOf(wish.path) : wish.path;
  const before = lookAt(path);
  if (before !== undefined && !before.isFile() && !before.isSymbolicLink()) {
    throw new StateFailure(`${path} is a ${kindOf(path, before)}, which no file takes the place of`);
  }
  const file = before?.isFile() === true ? before : undefined;
  const content = file !== undefined && wish.keepContent === true ? undefined : wish.content;
  const same = file !== undefined && (content === undefined || (await hasContent(path, file, content)));
  if (same && !attributesDiffer(file, wish.attributes)) {
    return { changes: {}, comment: `The file ${path} is as described` };
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
    comment: `The file ${path} is to be ${verb}${missingNote(wish.attributes)}`,
    async apply() {
      if (same) setAttributes(path, wish.attributes);
      else await write(path, file, copy, { ...wish, content });
      return { comment: `The file ${path} was ${verb}` };
    },
  };
}

/** @param copy where the file as it was is kept */
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
  makeParents(path, wish.makedirs, { ...wish.attributes, mode: dirMode });
  if (file !== undefined && copy !== undefined) {
    const { uid, gid, mode } = file;
    await putFile(copy, readRegular(path), { uid, gid, mode: mode & 0o7777, missing: [] });
  }
  await putFile(path, data, attributes, wish.check);
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

/** Secrets must not get into what a run returns, which is sent and kept. */
function reasonToHide(
  file: Stats | undefined,
  { content, attributes, showChanges }: FileWish,
): string | undefined {
  if (showChanges !== undefined) return showChanges ? undefined : hidden.asked;
  if (content?.secret === true) return hidden.secret;
  const modes = [file?.mode ?? everybodyReads, attributes.mode ?? file?.mode ?? newFileMode];
  return modes.every((mode) => (mode & everybodyReads) !== 0) ? undefined : hidden.mode;
}
