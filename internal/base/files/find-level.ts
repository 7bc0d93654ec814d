import { closeSync, constants, lstatSync, openSync, readlinkSync, type Stats, statfsSync } from "node:fs";
import { resolve } from "node:path";
import { SvcError } from "../errors.ts";
import { bytesOfText, textOfBytes } from "./byte-text.ts";
import { isFixedEntry } from "./level-trust.ts";

/** A directory on the way to a path, as far as a walk has come. */
export interface Level {
  /** Its path without symbolic links, for messages. */
  path: string;
  /** How system calls reach it, without a slash at its end: its path, or its open descriptor. */
  reach: string;
  /** The open directory; `undefined` when only trusted users can change what its path refers to. */
  fd: number | undefined;
  /** `undefined` for the root, which is trusted without a look. */
  stats: Stats | undefined;
}

/** Creates the directory `name` in a level where it does not exist. */
export type MakeMissing = (level: Level, name: string) => void;

const pathOnly = 0o10000000;
/** Opens a directory without the right to read it, and never through a symbolic link. */
const levelFlags = pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const root: Level = { path: "/", reach: "", fd: undefined, stats: undefined };
const maxLinks = 40;
const fuse = 0x65735546;

/**
 * Finds a directory, level by level from the root. As long as only trusted users can change what a name
 * refers to, symbolic links are followed. From the first level on that another user can change, each directory
 * is opened below the one before it, and no link is followed.
 *
 * @param make called for a directory that does not exist
 * @throws SvcError `forbidden` for a link that another user can change; system errors
 */
export function findLevel(path: string, make?: MakeMissing): Level {
  let level = root;
  let links = 0;
  const left = (path.startsWith("/") ? path : resolve(path)).split("/").reverse();
  try {
    for (let name = left.pop(); name !== undefined; name = left.pop()) {
      if (name === "" || name === ".") continue;
      if (name === "..") {
        // Only the target of a trusted link has it, and the path of a trusted level contains no link.
        left.push(...level.path.split("/").slice(0, -1).reverse());
        level = root;
        continue;
      }
      const at = `${level.reach}/${name}`;
      const here = bytesOfText(at);
      let stats = lstatSync(here, { throwIfNoEntry: false });
      if (stats === undefined) {
        if (make === undefined) throw systemError("ENOENT");
        make(level, name);
        stats = lstatSync(here);
      }
      const fixed = isFixed(level, stats);
      if (stats.isSymbolicLink()) {
        if (!fixed) throw refusedLink(pathIn(level, name));
        if (++links > maxLinks) throw systemError("ELOOP");
        const target = textOfBytes(readlinkSync(here, { encoding: "buffer" }));
        left.push(...target.split("/").reverse());
        if (target.startsWith("/")) level = root;
      } else if (!stats.isDirectory()) throw systemError("ENOTDIR");
      else {
        const known = fixed && !isForeignMount(level, at, stats);
        const next = known ? { reach: at, fd: undefined, stats } : open(at);
        closeLevel(level);
        level = { ...next, path: pathIn(level, name) };
      }
    }
    return level;
  } catch (cause) {
    closeLevel(level);
    throw cause;
  }
}

export function closeLevel({ fd }: Level): void {
  if (fd !== undefined) closeSync(fd);
}

/** Opens the directory `name` of a level, which must not be a symbolic link. The level stays open. */
export function enterLevel(level: Level, name: string): Level {
  return { ...open(`${level.reach}/${name}`), path: pathIn(level, name) };
}

/** The path of an entry, for messages. */
export function pathIn({ path }: Pick<Level, "path">, name: string): string {
  return `${path === "/" ? "" : path}/${name}`;
}

/** Whether only trusted users can change what a name in a level refers to. */
export function isFixed(level: Level, entry: Stats): boolean {
  return level.fd === undefined && (level.stats === undefined || isFixedEntry(level.stats, entry, isTrusted));
}

/**
 * Whether a user is as powerful as this process. The owner of the root directory is, also where a namespace renames
 * root.
 */
export function isTrusted(uid: number): boolean {
  return uid === 0 || uid === process.geteuid?.() || uid === lstatSync("/").uid;
}

function open(at: string): { reach: string; fd: number; stats: Stats } {
  const fd = openSync(bytesOfText(at), levelFlags);
  const reach = `/proc/self/fd/${fd}`;
  const stats = lstatSync(`${reach}/.`, { throwIfNoEntry: false });
  if (stats !== undefined) return { reach, fd, stats };
  closeSync(fd);
  throw new SvcError(
    "forbidden",
    "another user can change a directory of the path, and without /proc it cannot be held open; mount /proc",
  );
}

/** Whether a user program serves the file system of a directory: it can claim any owner. */
function isForeignMount({ stats }: Level, at: string, { dev }: Stats): boolean {
  // No other user can own a directory in the root, which mounting on it needs.
  return stats !== undefined && dev !== stats.dev && statfsSync(bytesOfText(at)).type === fuse;
}

export function refusedLink(path: string): SvcError {
  return new SvcError(
    "forbidden",
    `${path} is a symbolic link that another user can change, and is not followed; give the path it points to`,
  );
}

/** An error as the system reports it. */
function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
