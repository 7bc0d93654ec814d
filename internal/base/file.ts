import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { SvcError } from "./errors.ts";
import { systemRandom } from "./id.ts";

/** Mode of a file that holds a secret. */
export const secretMode = 0o600;
/** Mode of a file that anybody on the host may read. */
export const publicMode = 0o644;

/**
 * Writes a file whole or not at all: a temporary name with the final mode from its first byte,
 * fsync, rename, fsync of the directory.
 *
 * @param mode permission bits, whatever the umask says
 */
export function writeFileAtomic(path: string, data: string | Uint8Array, mode: number): void {
  const temporary = writeTemporary(path, data, mode);
  try {
    renameSync(temporary, path);
  } catch (cause) {
    unlinkSync(temporary);
    throw cause;
  }
  syncDirectory(dirname(path));
}

/**
 * The same for a file that must not exist yet: it never replaces one, not even in a race.
 *
 * @throws SvcError `conflict` when the file exists
 */
export function createFileAtomic(path: string, data: string | Uint8Array, mode: number): void {
  const temporary = writeTemporary(path, data, mode);
  try {
    linkSync(temporary, path);
  } catch (cause) {
    if (isErrno(cause, "EEXIST")) {
      throw new SvcError("conflict", `${path} exists already and is not overwritten`);
    }
    throw cause;
  } finally {
    unlinkSync(temporary);
  }
  syncDirectory(dirname(path));
}

/** Makes a directory and its parents; the directory itself gets `mode`, also when it was there before. */
export function makeDirectory(path: string, mode: number): void {
  mkdirSync(path, { recursive: true, mode });
  chmodSync(path, mode);
}

/** Reads a file as UTF-8 text; `undefined` when there is none. */
export function readTextIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (isErrno(cause, "ENOENT")) return undefined;
    throw cause;
  }
}

/**
 * Reads a file that must be there.
 *
 * @param purpose what the file is, for the message: "the bus CA"
 * @throws SvcError `bad_request` that names the path and the reason
 */
export function readTextFile(path: string, purpose: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new SvcError("bad_request", `cannot read ${purpose} ${path}: ${reasonOf(cause)}`);
  }
}

/** Whether an error of the operating system has this code. */
export function isErrno(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === code;
}

const reasons: Record<string, string> = {
  ENOENT: "no such file",
  EACCES: "permission denied",
  EISDIR: "it is a directory",
  ENOTDIR: "a part of the path is not a directory",
  EEXIST: "it exists already",
  ENOTEMPTY: "the directory is not empty",
  ELOOP: "it is a symbolic link, which is not followed",
  ENOSPC: "no space is left on the device",
  EROFS: "the file system is read-only",
  EPERM: "operation not permitted",
  EADDRINUSE: "another program has this address already",
  EADDRNOTAVAIL: "this host has no such address",
};

/** The reason of a failed operation on a file or address in words. */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof Error && "code" in thrown && typeof thrown.code === "string") {
    return reasons[thrown.code] ?? thrown.code;
  }
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** A name beside the file that nobody can guess, for what takes its place by a rename. */
export function temporaryName(path: string): string {
  return join(dirname(path), `.${basename(path)}.${Buffer.from(systemRandom(6)).toString("hex")}`);
}

function writeTemporary(path: string, data: string | Uint8Array, mode: number): string {
  const temporary = temporaryName(path);
  const bytes = typeof data === "string" ? Buffer.from(data, "utf8") : data;
  // Created without any bit for group and others, whatever the final mode: nobody opens it early.
  const file = openSync(temporary, "wx", mode & 0o700);
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } catch (cause) {
    unlinkSync(temporary);
    throw cause;
  } finally {
    closeSync(file);
  }
  chmodSync(temporary, mode);
  return temporary;
}

/** Makes a rename in this directory survive a power cut. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
