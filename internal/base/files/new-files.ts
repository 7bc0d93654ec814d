import { lstatSync, mkdirSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { SvcError } from "../errors.ts";
import { createFileAtomic, isErrno, reasonOf } from "./file.ts";

/** A file to create. */
export interface NewFile {
  path: string;
  data: string;
  /** Permission bits, whatever the umask says. */
  mode: number;
}

/**
 * Creates files that must not exist yet, all of them or none. The first file is the claim: when several
 * processes create the same set at once, one of them succeeds and the others leave nothing behind.
 *
 * Missing directories are created with access for the owner only. An existing directory keeps its mode.
 *
 * @throws SvcError `conflict` naming the file that exists, `storage` naming the one that cannot be written
 */
export function createFiles(files: readonly NewFile[]): void {
  for (const { path } of files) {
    if (isPresent(path)) throw new SvcError("conflict", `${path} already exists and is not overwritten`);
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

/** Creates a directory and its missing parents with access for the owner only. Existing ones are unchanged. */
export function makePrivateDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** Whether the path exists, including as a dangling symbolic link. */
export function isPresent(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    // A parent is a file. Creating the directory fails and reports it.
    if (isErrno(cause, "ENOTDIR")) return false;
    throw cause;
  }
}

/** Runs a write, and names the file when it fails. @throws SvcError `storage` */
export function writing(path: string, write: () => void): void {
  try {
    write();
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    throw new SvcError("storage", `cannot write ${path}: ${reasonOf(cause)}`, { cause });
  }
}
