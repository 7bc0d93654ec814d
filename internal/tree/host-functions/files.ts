import {
  accessSync,
  constants,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type Stats,
  statSync,
} from "node:fs";
import { attempt, SvcError } from "../../base/errors.ts";
import { shownText, textOfBytes } from "../../base/files/byte-text.ts";
import { isErrno, reasonOf } from "../../base/files/file.ts";
import { openForReading } from "../../base/files/open-for-reading.ts";
import type { Plain } from "../../base/msgpack.ts";
import { localGroups, localUsers } from "../../host/system/accounts/mod.ts";
import { type System, systemOf } from "../../host/system/system.ts";
import { type HostFunction, reading, text } from "./function.ts";

type Args = Readonly<Record<string, Plain>>;

/** Larger files are not read. */
const maxBytes = 1024 * 1024;
const maxNames = 10_000;

const test = (name: string, doc: string, holds: (path: string) => boolean): HostFunction =>
  reading(name, ["path"], doc, (args) => holds(text(args, "path")));

const attribute = (name: string, doc: string, find: (stats: Stats, system: System) => Plain): HostFunction =>
  reading(name, ["path", "follow_symlinks?"], doc, (args, tools) =>
    find(statsOf(args), systemOf(tools.context)),
  );

/** Functions that look at files of the host. */
export const fileFunctions: readonly HostFunction[] = [
  test(
    "file.file_exists",
    "Returns whether a path is a regular file.",
    (path) => statIfAny(path)?.isFile() === true,
  ),
  test(
    "file.directory_exists",
    "Returns whether a path is a directory.",
    (path) => statIfAny(path)?.isDirectory() === true,
  ),
  test(
    "file.path_exists_glob",
    "Returns whether there is a path that matches a glob.",
    (pattern) => firstMatch(pattern) !== undefined,
  ),
  test(
    "file.is_link",
    "Returns whether a path is a symbolic link.",
    (path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true,
  ),
  test(
    "file.is_blkdev",
    "Returns whether a path is a block device.",
    (path) => statIfAny(path)?.isBlockDevice() === true,
  ),
  test(
    "file.is_chrdev",
    "Returns whether a path is a character device.",
    (path) => statIfAny(path)?.isCharacterDevice() === true,
  ),
  test("file.is_fifo", "Returns whether a path is a pipe.", (path) => statIfAny(path)?.isFIFO() === true),
  reading(
    "file.access",
    ["path", "mode"],
    "Returns whether the peel may use a path: f (it exists), r, w or x.",
    (args) => mayAccess(text(args, "path"), text(args, "mode")),
  ),
  reading("file.readlink", ["path", "canonicalize?"], "Returns the target of a symbolic link.", (args) =>
    about(text(args, "path"), () => readlinkSync(text(args, "path"))),
  ),
  reading("file.readdir", ["path"], "Lists the names in a directory, with . and .. first.", (args) =>
    about(text(args, "path"), () => [".", "..", ...namesIn(text(args, "path")).slice(0, maxNames)]),
  ),
  reading("file.read", ["path"], "Returns the text of a regular file of at most 1 MiB.", (args) =>
    contentOf(text(args, "path")),
  ),
  reading("file.contains", ["path", "text"], "Returns whether a line of a file contains a text.", (args) =>
    (contentIfAny(text(args, "path")) ?? "").split("\n").some((line) => line.includes(text(args, "text"))),
  ),
  attribute("file.get_mode", "Returns the permission bits of a file, as text.", ({ mode }) =>
    (mode & 0o7777).toString(8).padStart(4, "0"),
  ),
  attribute("file.get_uid", "Returns the id of the owner of a file.", ({ uid }) => uid),
  attribute("file.get_gid", "Returns the id of the group of a file.", ({ gid }) => gid),
  attribute("file.get_user", "Returns the owner of a file.", ({ uid }, system) => userName(system, uid)),
  attribute("file.get_group", "Returns the group of a file.", ({ gid }, system) => groupName(system, gid)),
  attribute("file.stats", "Returns the attributes of a file.", (stats, system) => ({
    ...{ size: stats.size, mode: (stats.mode & 0o7777).toString(8).padStart(4, "0"), inode: stats.ino },
    ...{
      uid: stats.uid,
      user: userName(system, stats.uid),
      gid: stats.gid,
      group: groupName(system, stats.gid),
    },
    ...{ atime: seconds(stats.atimeMs), mtime: seconds(stats.mtimeMs), ctime: seconds(stats.ctimeMs) },
    type: typeOf(stats),
  })),
  reading(
    "alternatives.show_current",
    ["name"],
    "Returns the path that an alternative stands for; false without it.",
    (args) => linkIfAny(`/etc/alternatives/${text(args, "name").replaceAll("/", "")}`) ?? false,
  ),
];

const seconds = (ms: number): number => Math.floor(ms / 1000);
const userName = (system: System, uid: number): string =>
  [...localUsers(system).values()].find((user) => user.uid === uid)?.name ?? String(uid);
const groupName = (system: System, gid: number): string =>
  [...localGroups(system).values()].find((group) => group.gid === gid)?.name ?? String(gid);

function typeOf(stats: Stats): string {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "dir";
  if (stats.isSymbolicLink()) return "link";
  if (stats.isFIFO()) return "pipe";
  if (stats.isSocket()) return "socket";
  return stats.isBlockDevice() ? "block" : "char";
}

/** @throws SvcError `bad_request` naming the path */
function about<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (thrown) {
    if (thrown instanceof SvcError) throw thrown;
    throw new SvcError("bad_request", `${path}: ${reasonOf(thrown)}`, { cause: thrown });
  }
}

function statsOf(args: Args): Stats {
  const path = text(args, "path");
  return about(path, () => (args.follow_symlinks === false ? lstatSync(path) : statSync(path)));
}

function statIfAny(path: string): Stats | undefined {
  // Behind a file, or in a directory that the peel may not read.
  return attempt(() => statSync(path, { throwIfNoEntry: false }));
}

function mayAccess(path: string, mode: string): boolean {
  const modes: Readonly<Record<string, number>> = {
    ...{ f: constants.F_OK, r: constants.R_OK, w: constants.W_OK, x: constants.X_OK },
  };
  const wanted = Object.hasOwn(modes, mode) ? modes[mode] : undefined;
  if (wanted === undefined) throw new SvcError("bad_request", "mode: expected f, r, w or x");
  try {
    accessSync(path, wanted);
    return true;
  } catch {
    return false;
  }
}

function contentOf(path: string): string {
  return about(path, () => {
    using opened = openForReading(path);
    if (opened.stats.size > maxBytes) throw new SvcError("bad_request", `${path} is larger than 1 MiB`);
    return readFileSync(opened.file, "utf8");
  });
}

function namesIn(path: string): string[] {
  return readdirSync(path, { encoding: "buffer" }).map(textOfBytes).map(shownText).sort();
}

function contentIfAny(path: string): string | undefined {
  return statIfAny(path)?.isFile() === true ? contentOf(path) : undefined;
}

function linkIfAny(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT") || isErrno(thrown, "EINVAL")) return undefined;
    throw thrown;
  }
}

function firstMatch(pattern: string): string | undefined {
  for (const found of new Bun.Glob(pattern.replace(/^\//, "")).scanSync({
    cwd: "/",
    onlyFiles: false,
    dot: true,
  })) {
    return found;
  }
  return undefined;
}
