import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  readFileSync,
  type Stats,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { isErrno, temporaryName } from "./file.ts";
import { type OpenedDirectory, openParent } from "./opened-directory.ts";
import { setOwnerAndMode } from "./owner-and-mode.ts";

/** What an interrupted write in place needs to be taken back. */
interface Note {
  /** The entry with the new content. */
  stage: string;
  uid: number;
  gid: number;
  mode: number;
  before: Buffer;
}

const maxHead = 1024;
const headForm = /^\{"stage":"[^"]{1,255}","uid":\d+,"gid":\d+,"mode":\d+,"size":\d+\}$/;

/**
 * Notes the content of a file that is about to be written in place, so that the end of this process loses no content.
 * Nothing is noted where another user can change the directory: what a note says is later done with the rights of
 * this process.
 *
 * @param stage the entry of the directory with the new content
 */
export function noteOverwrite(
  directory: OpenedDirectory,
  name: string,
  stage: string,
  before: Buffer,
  stats: Stats,
): void {
  if (!isOurs(directory)) return;
  const { uid, gid, mode } = stats;
  const head = JSON.stringify({ stage, uid, gid, mode: mode & 0o7777, size: before.length });
  directory.remove(noteOf(name));
  const file = directory.openFile(
    noteOf(name),
    constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY,
    0o600,
  );
  try {
    writeAt(file, Buffer.concat([Buffer.from(`${head}\n`), before]));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The write is complete, or was taken back. */
export function forgetOverwrite(directory: OpenedDirectory, name: string): void {
  if (isOurs(directory)) directory.remove(noteOf(name));
}

/**
 * Takes back a write in place that never ended, so that the file has its old content and mode. Does nothing when the
 * file has other content meanwhile.
 */
export function undoOverwrite(directory: OpenedDirectory, name: string): void {
  if (directory.stats(noteOf(name))?.uid !== process.geteuid?.() || !isOurs(directory)) return;
  const note = readNote(directory, name);
  if (note !== undefined) restore(directory, name, note);
  directory.remove(noteOf(name));
  if (note !== undefined) directory.remove(note.stage);
}

/** The same for a path, which costs nothing without a note. */
export function undoOverwriteOf(path: string): void {
  if (!existsSync(join(dirname(path), noteOf(basename(path))))) return;
  using directory = openParent(path);
  undoOverwrite(directory, basename(path));
}

function restore(directory: OpenedDirectory, name: string, { stage, before, uid, gid, mode }: Note): void {
  const after = readOwn(directory, stage);
  if (after === undefined || directory.stats(name)?.isFile() !== true) return;
  const file = directory.openFile(name, constants.O_RDWR);
  try {
    if (!isMixture(readFileSync(file), before, after)) return;
    // Nobody else may read what is written until it has the mode that belongs to it.
    setOwnerAndMode(file, { uid: undefined, gid: undefined, mode: fstatSync(file).mode & mode & 0o7777 });
    writeAt(file, before);
    ftruncateSync(file, before.length);
    setOwnerAndMode(file, { uid, gid, mode });
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Whether a file is what an interrupted write leaves: each byte is that of the old content or of the new one. */
export function isMixture(now: Uint8Array, before: Uint8Array, after: Uint8Array): boolean {
  const [min, max] = [Math.min(before.length, after.length), Math.max(before.length, after.length)];
  if (now.length < min || now.length > max || Buffer.compare(now, after) === 0) return false;
  return now.every((byte, at) => byte === before[at] || byte === after[at]);
}

/** A note that is not complete was never followed by a write. */
function readNote(directory: OpenedDirectory, name: string): Note | undefined {
  const bytes = readOwn(directory, noteOf(name));
  const end = bytes?.subarray(0, maxHead).indexOf("\n") ?? -1;
  const head = bytes?.toString("utf8", 0, Math.max(0, end)) ?? "";
  if (bytes === undefined || !headForm.test(head)) return undefined;
  const { size, stage, ...attributes } = JSON.parse(head) as Omit<Note, "before"> & { size: number };
  const before = bytes.subarray(end + 1);
  const isStage = stage.startsWith(`.${name}.`) && stage.length === temporaryName(name).length;
  return isStage && before.length === size ? { ...attributes, stage, before } : undefined;
}

/** A file of this process, which nobody else can have written. */
function readOwn(directory: OpenedDirectory, name: string): Buffer | undefined {
  let file: number;
  try {
    file = directory.openFile(name, constants.O_RDONLY);
  } catch (cause) {
    if (isErrno(cause, "ENOENT")) return undefined;
    throw cause;
  }
  try {
    const stats = fstatSync(file);
    return stats.isFile() && directory.isTrusted(stats.uid) ? readFileSync(file) : undefined;
  } finally {
    closeSync(file);
  }
}

function isOurs({ own, isTrusted }: OpenedDirectory): boolean {
  return isTrusted(own.uid) && (own.mode & 0o022) === 0;
}

function noteOf(name: string): string {
  return `.${name}.unfinished`;
}

function writeAt(file: number, data: Uint8Array): void {
  for (let at = 0; at < data.length; ) at += writeSync(file, data, at, data.length - at, at);
}
