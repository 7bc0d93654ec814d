import {
  constants,
  fdatasyncSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno, temporaryName } from "../../base/file.ts";
import { replaceFile } from "./replace-file.ts";
import { type Owner, withRegularFile } from "./touch.ts";

/** Owner and mode a call asks for; what it leaves open stays as it was, or is the default. */
export interface Wanted {
  owner: Owner;
  mode: number | undefined;
}

const newFileMode = 0o644;
const parentMode = 0o755;
const copyChunkBytes = 1024 * 1024;

/** Writes a whole file. @returns whether there was none before */
export async function writeWhole(path: string, data: Uint8Array, wanted: Wanted): Promise<boolean> {
  const before = replaceable(path);
  await replaceFile(path, merged(wanted, before), (file) => writeAll(file, data));
  return before === undefined;
}

/**
 * Copies a regular file, as large as it may be; ends early, and leaves nothing, when the signal aborts.
 *
 * @returns how many bytes it has
 */
export async function copyWhole(
  from: string,
  to: string,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<number> {
  const before = replaceable(to);
  const source = await open(from, constants.O_RDONLY | constants.O_NONBLOCK);
  let total = 0;
  try {
    const stats = await source.stat();
    if (!stats.isFile()) throw new SvcError("bad_request", `${from} is no regular file`);
    const { owner, mode } = merged(wanted, before);
    const copied = wanted.mode ?? (before === undefined ? stats.mode & 0o777 : mode);
    await replaceFile(to, { owner, mode: copied }, async (file) => {
      const buffer = Buffer.alloc(copyChunkBytes);
      for (;;) {
        const { bytesRead } = await source.read(buffer, 0, buffer.length);
        if (bytesRead === 0) return;
        writeAll(file, buffer.subarray(0, bytesRead));
        total += bytesRead;
        signal.throwIfAborted();
      }
    });
  } finally {
    await source.close();
  }
  return total;
}

/**
 * Appends lines to a regular file, or begins one. It does not follow a symbolic link.
 *
 * @param text gets a line end, and the file one before it, where they are missing
 * @returns how many bytes were added
 */
export function appendLines(path: string, text: string): Promise<number> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
  return withRegularFile(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_RDWR, (file, { size }) => {
    const last = Buffer.from("\n");
    if (size > 0) readSync(file, last, 0, 1, size - 1);
    const start = last.toString("latin1") === "\n" ? "" : "\n";
    const data = Buffer.from(`${start}${text}${text.endsWith("\n") ? "" : "\n"}`);
    writeAll(file, data);
    fdatasyncSync(file);
    return data.length;
  });
}

/** Makes a symbolic link. @returns whether it was not there already as it should be */
export function makeLink(target: string, path: string, force: boolean): boolean {
  try {
    symlinkSync(target, path);
    return true;
  } catch (cause) {
    if (!isErrno(cause, "EEXIST")) throw cause;
  }
  const before = lstatSync(path);
  if (before.isSymbolicLink() && readlinkSync(path) === target) return false;
  if (!force) throw new SvcError("conflict", `${path} exists already: force=true replaces it`);
  if (before.isDirectory()) throw new SvcError("conflict", `${path} is a directory, which is not replaced`);
  const temporary = temporaryName(path);
  symlinkSync(target, temporary);
  try {
    renameSync(temporary, path);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw cause;
  }
  return true;
}

/**
 * Removes a file, or a symbolic link and not what it points to, or a directory.
 *
 * @returns whether there was anything
 */
export async function removePath(path: string, recursive: boolean): Promise<boolean> {
  const before = lstatSync(path, { throwIfNoEntry: false });
  if (before === undefined) return false;
  if (isRootDirectory(path))
    throw new SvcError("bad_request", `${path} is the root directory, and is not removed`);
  if (before.isDirectory() && !recursive) {
    throw new SvcError("bad_request", `${path} is a directory: recursive=true removes it and what is in it`);
  }
  // Below the directory the runtime goes by open directories, so no link that is put there leads it away.
  await rm(path, { recursive });
  return true;
}

/**
 * Whether a path is the root of the file system by whatever name. It looks at the directory itself, so
 * that it holds also where a check of the path's text has failed.
 */
export function isRootDirectory(path: string): boolean {
  const [root, found] = [statSync("/"), lstatSync(path)];
  return found.dev === root.dev && found.ino === root.ino;
}

/** Makes the directory that a file is going to be in, if that is wished for. */
export function makeParents(path: string, wished: boolean | undefined): void {
  if (wished === true) mkdirSync(dirname(path), { recursive: true, mode: parentMode });
}

/** What has this name now, as far as a file may take its place. */
function replaceable(path: string): Stats | undefined {
  const before = lstatSync(path, { throwIfNoEntry: false });
  if (before === undefined || before.isSymbolicLink()) return undefined;
  if (before.isFile()) return before;
  throw new SvcError("bad_request", `${path} is there and is no regular file`);
}

function merged({ owner, mode }: Wanted, before: Stats | undefined): { owner: Owner; mode: number } {
  return {
    owner: { uid: owner.uid ?? before?.uid, gid: owner.gid ?? before?.gid },
    mode: mode ?? (before === undefined ? newFileMode : before.mode & 0o7777),
  };
}

function writeAll(file: number, data: Uint8Array): void {
  for (let at = 0; at < data.length; ) at += writeSync(file, data, at);
}
