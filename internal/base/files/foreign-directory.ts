import { dirname } from "node:path";
import { isErrno } from "./file.ts";
import { openDirectory } from "./opened-directory.ts";

/** A directory in which another user can replace entries. */
export interface ForeignDirectory {
  path: string;
  /** Its owner, which may be root where a group can write. */
  uid: number;
}

const othersWrite = 0o022;
const sticky = 0o1000;

/**
 * Finds the directory at a path, or the nearest one above it that exists, if another user can replace what is
 * below it. A program that follows paths must not run there as root.
 *
 * @returns `undefined` when only trusted users can
 * @throws SvcError `forbidden` for a symbolic link that another user can change
 */
export function findForeignDirectory(path: string): ForeignDirectory | undefined {
  for (let at = path; ; at = dirname(at)) {
    try {
      using directory = openDirectory(at);
      const { uid, mode } = directory.own;
      // What root creates in a sticky directory is its own.
      const isOpen = (mode & othersWrite) !== 0 && ((mode & sticky) === 0 || at === path);
      if (directory.isFixedPath && directory.isTrusted(uid) && !isOpen) return undefined;
      return { path: directory.path, uid };
    } catch (cause) {
      if (at === "/" || !isErrno(cause, "ENOENT")) throw cause;
    }
  }
}
