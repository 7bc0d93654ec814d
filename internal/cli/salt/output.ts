import { closeSync, constants, mkdirSync, openSync, readdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf, temporaryName } from "../../base/files/file.ts";
import { type OpenedDirectory, openDirectory } from "../../base/files/opened-directory.ts";
import { writeWhole } from "../../base/files/replace-entry.ts";

/** A directory that appears with everything in it, or not at all. */
export interface OutputDirectory extends Disposable {
  /** How this process reaches the files until `publish`. */
  readonly reach: string;
  /** Creates a file. @param path relative, of plain segments */
  write(path: string, data: string | Uint8Array, mode: number): void;
  /** Gives the directory its name. @throws SvcError `conflict` when there is something by now */
  publish(): void;
}

const exclusive = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;

/**
 * Starts a directory next to its final place, with access for its owner only. Disposing removes what was not
 * published.
 *
 * @throws SvcError `conflict` when the final place has anything in it
 */
export function createOutput(path: string): OutputDirectory {
  const target = resolve(path);
  refuseTaken(target);
  const parent = openParentOf(target);
  const name = basename(temporaryName(target));
  let made: OpenedDirectory;
  try {
    made = parent.makePrivate(name);
  } catch (cause) {
    parent[Symbol.dispose]();
    throw failed(target, cause);
  }
  let published = false;
  return {
    reach: made.reach,
    write(below, data, mode) {
      const at = `${made.reach}/${below}`;
      try {
        mkdirSync(dirname(at), { recursive: true, mode: 0o755 });
        const file = openSync(at, exclusive, mode);
        try {
          writeWhole(file, typeof data === "string" ? Buffer.from(data) : data);
        } finally {
          closeSync(file);
        }
      } catch (cause) {
        throw failed(join(target, below), cause);
      }
    },
    publish() {
      refuseTaken(target);
      try {
        // The kernel replaces a directory only while it is empty.
        parent.move(name, parent, basename(target));
      } catch (cause) {
        if (isErrno(cause, "ENOTEMPTY") || isErrno(cause, "EEXIST")) throw taken(target);
        throw failed(target, cause);
      }
      published = true;
      parent.sync();
    },
    [Symbol.dispose]() {
      made[Symbol.dispose]();
      if (!published) parent.removeTree(name);
      parent[Symbol.dispose]();
    },
  };
}

function openParentOf(target: string): OpenedDirectory {
  try {
    return openDirectory(dirname(target));
  } catch (cause) {
    throw failed(target, cause);
  }
}

function refuseTaken(target: string): void {
  try {
    if (readdirSync(target).length > 0) throw taken(target);
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    if (isErrno(cause, "ENOENT")) return;
    throw failed(target, cause);
  }
}

function taken(target: string): SvcError {
  return new SvcError("conflict", `${target} is not empty: choose another directory, or remove it`);
}

function failed(path: string, cause: unknown): SvcError {
  if (cause instanceof SvcError) return cause;
  return new SvcError("storage", `cannot write ${path}: ${reasonOf(cause)}`, { cause });
}
