import { statSync } from "node:fs";
import { isErrno, reasonOf } from "./file.ts";

/**
 * Identifies what a file holds without reading it: by its time, size and inode.
 *
 * @returns an empty text for a file that does not exist, and the reason for one that cannot be looked at
 */
export function fileVersion(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch (cause) {
    if (isErrno(cause, "ENOENT") || isErrno(cause, "ENOTDIR")) return "";
    return `unreadable: ${reasonOf(cause)}`;
  }
}
