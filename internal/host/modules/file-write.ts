import { constants, fdatasyncSync, lstatSync, read, readSync, type Stats, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno, temporaryName } from "../../base/files/file.ts";
import { openForReading } from "../../base/files/open-for-reading.ts";
import { type OpenedDirectory, openDirectory } from "../../base/files/opened-directory.ts";
import type { FileAttributes } from "../../base/files/owner-and-mode.ts";
import { replaceEntry, writeWhole as writeAll } from "../../base/files/replace-entry.ts";
import { type Owner, withOpenFile } from "./touch.ts";

/** Requested owner and mode; absent attributes are kept from the existing file, or use the default. */
export interface Wanted {
  owner: Owner;
  mode: number | undefined;
}

const newFileMode = 0o644;
const parentMode = 0o755;
const copyChunkBytes = 1024 * 1024;

/** Writes a whole file. @returns whether it was created */
export async function writeWhole(
  directory: OpenedDirectory,
  path: string,
  data: Uint8Array,
  wanted: Wanted,
): Promise<boolean> {
  const before = replaceable(directory, path);
  await replaceEntry(directory, basename(path), {
    attributes: merged(wanted, before),
    fill: (file) => writeAll(file, data),
    durable: true,
  });
  return before === undefined;
}

/**
 * Copies a regular file of any size. Stops and leaves no file behind when the signal aborts.
 *
 * @returns the number of bytes
 */
export async function copyWhole(
  from: string,
  directory: OpenedDirectory,
  to: string,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<number> {
  const before = replaceable(directory, to);
  using source = openForReading(from);
  let total = 0;
  const attributes = merged(wanted, before);
  const mode = wanted.mode ?? (before === undefined ? source.stats.mode & 0o777 : attributes.mode);
  await replaceEntry(directory, basename(to), {
    attributes: { ...attributes, mode },
    durable: true,
    async fill(file) {
      const buffer = Buffer.alloc(copyChunkBytes);
      for (;;) {
        const length = await readPiece(source.file, buffer);
        if (length === 0) return;
        writeAll(file, buffer.subarray(0, length));
        total += length;
        signal.throwIfAborted();
      }
    },
  });
  return total;
}

/**
 * Appends lines to a regular file, or creates it. Does not follow a symbolic link.
 *
 * @param text a missing final line break is added, also to the existing content
 * @returns the number of bytes added
 */
export function appendLines(directory: OpenedDirectory, path: string, text: string): Promise<number> {
  const { O_APPEND, O_CREAT, O_RDWR } = constants;
  const file = directory.openFile(basename(path), O_APPEND | O_CREAT | O_RDWR, newFileMode);
  return withOpenFile(path, file, ({ size }) => {
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
export function makeLink(directory: OpenedDirectory, target: string, path: string, force: boolean): boolean {
  const name = basename(path);
  try {
    directory.link(name, target);
    return true;
  } catch (cause) {
    if (!isErrno(cause, "EEXIST")) throw cause;
  }
  const before = directory.stats(name);
  if (before?.isSymbolicLink() === true && directory.readLink(name) === target) return false;
  if (!force) throw new SvcError("conflict", `${path} already exists: set force=true to replace it`);
  if (before?.isDirectory() === true)
    throw new SvcError("conflict", `${path} is a directory and is not replaced`);
  const temporary = temporaryName(name);
  directory.link(temporary, target);
  try {
    directory.move(temporary, directory, name);
  } catch (cause) {
    directory.remove(temporary);
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
  using directory = openDirectory(dirname(path));
  if (recursive) await directory.removeTreeSlowly(basename(path));
  else directory.remove(basename(path));
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

/**
 * Opens the directory that contains a path.
 *
 * @param wished whether to create missing directories
 */
export function openParents(path: string, wished: boolean | undefined): OpenedDirectory {
  if (wished !== true) return openDirectory(dirname(path));
  return openDirectory(dirname(path), (parent, name) =>
    parent.makeDirectory(name, { uid: undefined, gid: undefined, mode: parentMode }),
  );
}

/** Stats of the existing file at a path, if a file may replace it. */
function replaceable(directory: OpenedDirectory, path: string): Stats | undefined {
  const before = directory.stats(basename(path));
  if (before === undefined || before.isSymbolicLink()) return undefined;
  if (before.isFile()) return before;
  throw new SvcError("bad_request", `${path} exists and is not a regular file`);
}

function merged({ owner, mode }: Wanted, before: Stats | undefined): FileAttributes {
  return {
    uid: owner.uid ?? before?.uid,
    gid: owner.gid ?? before?.gid,
    mode: mode ?? (before === undefined ? newFileMode : before.mode & 0o7777),
  };
}

function readPiece(file: number, buffer: Buffer): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  read(file, buffer, 0, buffer.length, null, (error, length) => {
    if (error === null) resolve(length);
    else reject(error);
  });
  return promise;
}
