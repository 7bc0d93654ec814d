import { constants, lstatSync, readFileSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { SvcError } from "../../../base/errors.ts";
import { isErrno, reasonOf } from "../../../base/file.ts";
import { StateFailure } from "../../function/function.ts";

/** Neither a symbolic link nor a named pipe that took the place of a file in the meantime is read. */
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** What has this name; `undefined` when nothing has. A symbolic link is seen, not followed. */
export function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    if (isErrno(cause, "ENOTDIR")) return undefined;
    throw failureOf("look at", path, cause);
  }
}

/** The content of a regular file. */
export function readRegular(path: string): Buffer {
  try {
    // Number flags are taken as they are; the types of the runtime know texts only.
    return readFileSync(path, { flag: readFlags as unknown as string });
  } catch (cause) {
    throw failureOf("read", path, cause);
  }
}

/** What a path leads to after all symbolic links; the path itself when there is nothing. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (cause) {
    if (isErrno(cause, "ENOENT")) return path;
    throw failureOf("follow", path, cause);
  }
}

/** What something is, in words. */
export function kindOf(path: string, stats: Stats): string {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  if (stats.isSymbolicLink()) return `symbolic link to ${readlinkSync(path)}`;
  if (stats.isFIFO()) return "named pipe";
  if (stats.isSocket()) return "socket";
  return "device";
}

/**
 * Runs what touches a file, and names the file when the system refuses.
 *
 * @param what `write`, as in "cannot write /etc/motd: the file system is read-only"
 * @throws StateFailure
 */
export function touching<Value>(what: string, path: string, run: () => Value): Value {
  try {
    return run();
  } catch (cause) {
    throw failureOf(what, path, cause);
  }
}

/** The failure of an operation on a file; what the system did not refuse stays what it is. */
export function failureOf(what: string, path: string, cause: unknown): unknown {
  if (cause instanceof SvcError || !(cause instanceof Error) || !("code" in cause)) return cause;
  return new StateFailure(`cannot ${what} ${path}: ${reasonOf(cause)}`, {}, { cause });
}
