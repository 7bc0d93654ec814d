import { lstatSync, mkdirSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { SvcError } from "./errors.ts";
import { createFileAtomic, isErrno, reasonOf } from "./file.ts";

/** A file to be made. */
export interface NewFile {
  path: string;
  data: string;
  /** Permission bits, whatever the umask says. */
  mode: number;
}

/**
 * Creates files that must not exist yet, all of them or none. The first one is the claim: of several
 * processes that create the same set at once, one gets it and the others leave nothing behind.
 *
 * Directories that are missing are made for the owner alone; one that is there keeps its mode.
 *
 * @throws SvcError `conflict` naming the file that exists, `storage` naming the one that cannot be written
 */
export function createFiles(files: readonly NewFile[]): void {
  for (const { path } of files) {
    if (isPresent(path)) throw new SvcError("conflict", `${path} exists already and is not overwritten`);
  }
  const created: string[] = [];
  try {
    for (const { path, data, mode } of files) {
      writing(path, () => {
        makePrivateDirectory(dirname(path));
        createFileAtomic(path, data, mode);
      });
      created.push(path);
    }
  } catch (cause) {
    for (const path of created.reverse()) unlinkSync(path);
    throw cause;
  }
}

/** Makes a directory and its missing parents for the owner alone; what is there stays as it is. */
export function makePrivateDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** Whether anything has this name, a dangling symbolic link included. */
export function isPresent(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    // A file stands where a directory is needed; making that fails, and says so.
    if (isErrno(cause, "ENOTDIR")) return false;
    throw cause;
  }
}

/** Runs a write and names the file when the operating system refuses it. @throws SvcError `storage` */
export function writing(path: string, write: () => void): void {
  try {
    write();
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    throw new SvcError("storage", `cannot write ${path}: ${reasonOf(cause)}`, { cause });
  }
}
