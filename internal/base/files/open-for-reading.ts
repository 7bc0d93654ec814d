import { closeSync, constants, fstatSync, type Stats } from "node:fs";
import { basename, dirname } from "node:path";
import { SvcError } from "../errors.ts";
import { pathIn, refusedLink } from "./find-level.ts";
import { openDirectory } from "./opened-directory.ts";

/** A regular file, open for reading. */
export interface ReadableFile extends Disposable {
  file: number;
  stats: Stats;
  /** Its path without symbolic links. */
  path: string;
  /** Whether only trusted users can change its path and its content. */
  isFixed: boolean;
}

const othersWrite = 0o022;
const maxLinks = 40;

/**
 * Opens a regular file. A symbolic link is followed where only trusted users can change it.
 *
 * @throws SvcError `forbidden` for a link that another user can change, `bad_request` when it is not a regular
 *   file; system errors
 */
export function openForReading(path: string): ReadableFile {
  let at = path;
  for (let links = 0; links < maxLinks; links++) {
    using directory = openDirectory(dirname(at));
    const name = basename(at);
    const entry = directory.stats(name);
    if (entry?.isSymbolicLink() !== true) {
      const file = directory.openFile(name, constants.O_RDONLY);
      const stats = fstatSync(file);
      if (stats.isFile()) {
        const isFixed = directory.isFixed(stats) && directory.isTrusted(stats.uid);
        return {
          file,
          stats,
          path: pathIn(directory, name),
          isFixed: isFixed && (stats.mode & othersWrite) === 0,
          [Symbol.dispose]: () => closeSync(file),
        };
      }
      closeSync(file);
      throw new SvcError("bad_request", `${path} is not a regular file`);
    }
    if (!directory.isFixed(entry)) throw refusedLink(pathIn(directory, name));
    const target = directory.readLink(name);
    at = target.startsWith("/") ? target : pathIn(directory, target);
  }
  throw new SvcError("bad_request", `${path} leads through too many symbolic links`);
}
