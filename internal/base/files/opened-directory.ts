import {
  closeSync,
  constants,
  fsyncSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { SvcError } from "../errors.ts";
import { bytesOfText, textOfBytes } from "./byte-text.ts";
import { isErrno } from "./file.ts";
import {
  closeLevel,
  enterLevel,
  findLevel,
  isFixed,
  isTrusted,
  type Level,
  type MakeMissing,
  pathIn,
} from "./find-level.ts";
import { type FileAttributes, setOwnerAndMode } from "./owner-and-mode.ts";

/**
 * A directory that stays the same while it is used, whatever other users do to its path. Everything that runs
 * as root writes through it. Names are single names in the directory; a symbolic link with such a name is
 * never followed. A name need not be UTF-8: see `textOfBytes`.
 */
export interface OpenedDirectory extends Disposable {
  /** Its path without symbolic links, for messages. */
  readonly path: string;
  /** How system calls of this process reach it while it is open, without a slash at its end. */
  readonly reach: string;
  /** Whether only trusted users can change what its path refers to. */
  readonly isFixedPath: boolean;
  /** Owner and mode of the directory itself. */
  readonly own: Stats;
  /** Stats of an entry; `undefined` when it does not exist. */
  stats(name: string): Stats | undefined;
  names(): string[];
  readLink(name: string): string;
  /**
   * Opens a file, and never blocks on a named pipe.
   *
   * @param mode permission bits of a file that is created
   * @returns the descriptor, which the caller closes
   */
  openFile(name: string, flags: number, mode?: number): number;
  /** Opens a directory in this one. */
  enter(name: string): OpenedDirectory;
  /** Whether a user is as powerful as this process. */
  isTrusted(uid: number): boolean;
  /** Whether only trusted users can change what the name of an entry refers to. */
  isFixed(entry: Stats): boolean;
  /**
   * Creates a directory. Nobody else can open it before it has its owner and mode.
   *
   * @throws SvcError `conflict` when another user put something else in its place
   */
  makeDirectory(name: string, attributes: FileAttributes): void;
  /** Creates a directory with access for its owner only, and opens it. */
  makePrivate(name: string): OpenedDirectory;
  /** Creates a symbolic link. */
  link(name: string, target: string): void;
  /** Moves an entry to a directory of the same file system, and replaces what is not a directory. */
  move(name: string, into: OpenedDirectory, newName: string): void;
  /** Sets owner and group of an entry itself; -1 leaves one unchanged. */
  changeOwner(name: string, uid: number, gid: number): void;
  /** Removes an entry that is not a directory, if it exists. */
  remove(name: string): void;
  /** Removes an empty directory. */
  removeEmpty(name: string): void;
  /** Removes an entry with everything below it, if it exists. */
  removeTree(name: string): void;
  /** The same, without blocking other work. */
  removeTreeSlowly(name: string): Promise<void>;
  /** Makes the changes of entries durable. */
  sync(): void;
  /** A path of an entry for child processes; valid while the directory is open. */
  forChild(name: string): string;
}

/**
 * Opens a directory.
 *
 * @param make called for each directory of the path that does not exist, outermost first
 * @throws SvcError `forbidden` when a symbolic link that another user can change leads there; system errors
 */
export function openDirectory(
  path: string,
  make?: (parent: OpenedDirectory, name: string) => void,
): OpenedDirectory {
  const makeMissing: MakeMissing | undefined =
    make === undefined ? undefined : (level, name) => make(openedDirectory(level), name);
  return openedDirectory(findLevel(path, makeMissing));
}

/** Opens the directory that contains a path. */
export function openParent(path: string): OpenedDirectory {
  return openDirectory(dirname(path));
}

function openedDirectory(level: Level): OpenedDirectory {
  const at = (name: string) => bytesOfText(`${level.reach}/${name}`);
  return {
    path: level.path,
    reach: level.reach,
    isFixedPath: level.fd === undefined,
    own: level.stats ?? lstatSync("/"),
    stats: (name) => lstatSync(at(name), { throwIfNoEntry: false }),
    names: () => readdirSync(at(""), { encoding: "buffer" }).map(textOfBytes),
    readLink: (name) => textOfBytes(readlinkSync(at(name), { encoding: "buffer" })),
    openFile: (name, flags, mode) =>
      openSync(at(name), flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, mode),
    enter: (name) => openedDirectory(enterLevel(level, name)),
    isTrusted,
    isFixed: (entry) => isFixed(level, entry),
    makePrivate: (name) => openedDirectory(create(level, name)),
    makeDirectory(name, attributes) {
      const made = create(level, name);
      try {
        // The descriptor of the level only stands for the path.
        const file = openSync(bytesOfText(`${made.reach}/.`), constants.O_RDONLY | constants.O_DIRECTORY);
        try {
          setOwnerAndMode(file, attributes);
        } finally {
          closeSync(file);
        }
      } finally {
        closeLevel(made);
      }
    },
    link: (name, target) => symlinkSync(bytesOfText(target), at(name)),
    move: (name, into, newName) => renameSync(at(name), bytesOfText(`${into.reach}/${newName}`)),
    changeOwner: (name, uid, gid) => lchownSync(at(name), uid, gid),
    remove(name) {
      try {
        unlinkSync(at(name));
      } catch (cause) {
        if (!isErrno(cause, "ENOENT")) throw cause;
      }
    },
    removeEmpty: (name) => rmdirSync(at(name)),
    removeTree: (name) => rmSync(at(name), { recursive: true, force: true }),
    removeTreeSlowly: (name) => rm(at(name), { recursive: true, force: true }),
    sync() {
      const file = openSync(at("."), constants.O_RDONLY | constants.O_DIRECTORY);
      try {
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    },
    forChild: (name) =>
      level.fd === undefined ? `${level.reach}/${name}` : `/proc/${process.pid}/fd/${level.fd}/${name}`,
    [Symbol.dispose]: () => closeLevel(level),
  };
}

function create(level: Level, name: string): Level {
  mkdirSync(bytesOfText(`${level.reach}/${name}`), { mode: 0o700 });
  const made = enterLevel(level, name);
  if (isUntouched(made)) return made;
  closeLevel(made);
  throw new SvcError("conflict", `${pathIn(level, name)} was replaced while it was created; try again`);
}

/** Whether a directory is the one that was just created, as far as its owner, mode and contents tell. */
function isUntouched({ stats, reach }: Level): boolean {
  const isOurs = stats?.uid === (process.geteuid?.() ?? 0) && (stats.mode & 0o777) === 0o700;
  return isOurs && readdirSync(bytesOfText(`${reach}/`)).length === 0;
}
