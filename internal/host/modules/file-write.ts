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

/** Requested owner and mode; absent attributes are kept from the existing file, or use the default. */
export interface Wanted {
  owner: Owner;
  mode: number | undefined;
}

const newFileMode = 0o644;
const parentMode = 0o755;
const copyChunkBytes = 1024 * 1024;

/** Writes a whole file. @returns whether it was created */
export async function writeWhole(path: string, data: Uint8Array, wanted: Wanted): Promise<boolean> {
  const before = replaceable(path);
  await replaceFile(path, merged(wanted, before), (file) => writeAll(file, data));
  return before === undefined;
}

/**
 * Copies a regular file of any size. Stops and leaves no file behind when the signal aborts.
 *
 * @returns the number of bytes
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
    if (!stats.isFile()) throw new SvcError("bad_request", `${from} is not a regular file`);
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
 * Appends lines to a regular file, or creates it. Does not follow a symbolic link.
 *
 * @param text a missing final line break is added, also to the existing content
 * @returns the number of bytes added
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

/** Creates a symbolic link. @returns whether something changed */
export function makeLink(target: string, path: string, force: boolean): boolean {
  try {
    symlinkSync(target, path);
    return true;
  } catch (cause) {
    if (!isErrno(cause, "EEXIST")) throw cause;
  }
  const before = lstatSync(path);
  if (before.isSymbolicLink() && readlinkSync(path) === target) return false;
  if (!force) throw new SvcError("conflict", `${path} already exists: set force=true to replace it`);
  if (before.isDirectory()) throw new SvcError("conflict", `${path} is a directory and is not replaced`);
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
 * Removes a file, a symbolic link (not its target) or a directory.
 *
 * @returns whether it existed
 */
export async function removePath(path: string, recursive: boolean): Promise<boolean> {
  const before = lstatSync(path, { throwIfNoEntry: false });
  if (before === undefined) return false;
  if (isRootDirectory(path))
    throw new SvcError("bad_request", `${path} is the root directory and is never removed`);
  if (before.isDirectory() && !recursive) {
    throw new SvcError(
      "bad_request",
      `${path} is a directory: set recursive=true to remove it with its contents`,
    );
  }
  // The runtime walks by open directory descriptors, so a link created meanwhile cannot redirect it.
  await rm(path, { recursive });
  return true;
}

/**
 * Whether a path is the root of the file system under any name. Checks the directory itself, so that it works
 * even where a check of the path text fails.
 */
export function isRootDirectory(path: string): boolean {
  const [root, found] = [statSync("/"), lstatSync(path)];
  return found.dev === root.dev && found.ino === root.ino;
}

/** Creates the parent directory of a file, if requested. */
export function makeParents(path: string, wished: boolean | undefined): void {
  if (wished === true) mkdirSync(dirname(path), { recursive: true, mode: parentMode });
}

/** Stats of the existing file at a path, if a file may replace it. */
function replaceable(path: string): Stats | undefined {
  const before = lstatSync(path, { throwIfNoEntry: false });
  if (before === undefined || before.isSymbolicLink()) return undefined;
  if (before.isFile()) return before;
  throw new SvcError("bad_request", `${path} exists and is not a regular file`);
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
