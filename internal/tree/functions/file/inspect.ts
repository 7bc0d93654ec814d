import {
  closeSync,
  constants,
  lstatSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from "node:fs";
import { basename } from "node:path";
import { attempt, SvcError } from "../../../base/errors.ts";
import { bytesOfText, shownText, textOfBytes } from "../../../base/files/byte-text.ts";
import { isErrno, reasonOf } from "../../../base/files/file.ts";
import { type OpenedDirectory, openParent } from "../../../base/files/opened-directory.ts";
import { undoOverwrite } from "../../../base/files/unfinished.ts";
import { StateFailure } from "../../function/mod.ts";

/** Does not follow a symbolic link, or block on a named pipe, that replaced the file meanwhile. */
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Stats of a path; `undefined` when it does not exist. Does not follow a symbolic link. */
export function statIfPresent(path: string): Stats | undefined {
  try {
    return lstatSync(bytesOfText(path), { throwIfNoEntry: false });
  } catch (cause) {
    if (isErrno(cause, "ENOTDIR")) return undefined;
    throw failureOf("access", path, cause);
  }
}

/**
 * The content of a regular file, for a comparison. Its directory may be replaced meanwhile, so the content must
 * not be written to another file.
 */
export function readRegular(path: string): Buffer {
  try {
    // Numeric flags work, but the types of the runtime only allow strings.
    return readFileSync(bytesOfText(path), { flag: readFlags as unknown as string });
  } catch (cause) {
    throw failureOf("read", path, cause);
  }
}

/** The content of a file, which may be written to another file: no user can redirect the access. */
export function readFixed(path: string): Buffer {
  return touching("read", path, () => {
    using directory = openParent(path);
    return readEntry(directory, basename(path));
  });
}

/** The content of a file in an open directory. */
export function readEntry(directory: OpenedDirectory, name: string): Buffer {
  undoOverwrite(directory, name);
  const file = directory.openFile(name, constants.O_RDONLY);
  try {
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** Resolves all symbolic links of a path; returns the path itself when it does not exist. */
export function realPathOf(path: string): string {
  try {
    return textOfBytes(realpathSync(bytesOfText(path), { encoding: "buffer" }));
  } catch (cause) {
    if (isErrno(cause, "ENOENT")) return path;
    throw failureOf("follow", path, cause);
  }
}

/** The file type, for messages. */
export function kindOf(path: string, stats: Stats): string {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  if (stats.isSymbolicLink()) return symbolicLink(path);
  if (stats.isFIFO()) return "named pipe";
  if (stats.isSocket()) return "socket";
  return "device";
}

function symbolicLink(path: string): string {
  // It was replaced meanwhile.
  return attempt(() => `symbolic link to ${shownText(targetOf(path))}`, "symbolic link");
}

/** The target of a symbolic link. */
export function targetOf(path: string): string {
  return textOfBytes(readlinkSync(bytesOfText(path), { encoding: "buffer" }));
}

/**
 * Runs a file operation; an error of the system names the file.
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

/** Converts a system error or refusal of a file operation to a failure; returns other errors unchanged. */
export function failureOf(what: string, path: string, cause: unknown): unknown {
  if (cause instanceof StateFailure) return cause;
  if (cause instanceof SvcError && cause.kind === "forbidden") {
    return new StateFailure(`cannot ${what} ${shownText(path)}: ${cause.message}`, {}, { cause });
  }
  if (cause instanceof SvcError || !(cause instanceof Error) || !("code" in cause)) return cause;
  return new StateFailure(`cannot ${what} ${shownText(path)}: ${reasonOf(cause)}`, {}, { cause });
}
