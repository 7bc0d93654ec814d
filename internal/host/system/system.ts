import {
  closeSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { endOf } from "../../base/cut.ts";
import { defined } from "../../base/defined.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import { bytesOfText, textOfBytes } from "../../base/files/byte-text.ts";
import { isErrno, publicMode, reasonOf, temporaryName } from "../../base/files/file.ts";
import { openDirectory, openParent } from "../../base/files/opened-directory.ts";
import { replaceEntryNow, writeWhole } from "../../base/files/replace-entry.ts";
import { undoOverwrite, undoOverwriteOf } from "../../base/files/unfinished.ts";
import { cleanEnvironment, programPath } from "../../base/process/environment.ts";
import { type Account, runProcess } from "../../base/process/process.ts";

/** The result of a program. */
export interface ProgramResult {
  /** Exit code, or 128 plus the number of the signal that ended it. */
  code: number;
  stdout: string;
  stderr: string;
}

export interface ProgramOptions {
  stdin?: string;
  /** Variables added to the clean environment. */
  env?: Readonly<Record<string, string>>;
  /** Milliseconds; one minute by default. */
  timeoutMs?: number;
  /** Maximum bytes kept of each stream; 128 KiB by default. */
  outputLimit?: number;
  /** Makes a text of the output; UTF-8 with replacement characters by default. */
  decode?(bytes: Buffer): string;
  /** Runs as this user, in the user's home directory. */
  account?: Account;
}

/** The interface between drivers and the host, which tests can replace. Paths are absolute. */
export interface System {
  /**
   * Text of a file; `undefined` when it does not exist. Bytes that are not UTF-8 are kept, see `textOfBytes`.
   *
   * @throws SvcError `storage`
   */
  read(path: string): string | undefined;
  /** Content of a file; `undefined` when it does not exist. @throws SvcError `storage` */
  readBytes(path: string): Uint8Array | undefined;
  /**
   * Text of a regular file in a directory of another user, who cannot choose what is read; `undefined` when it
   * does not exist.
   *
   * @throws SvcError `bad_request` when it is not a regular file, `storage`
   */
  readOwn(path: string): string | undefined;
  /** Sorted names in a directory; empty when it does not exist. */
  list(path: string): string[];
  /** Whether the path exists; follows symbolic links. */
  exists(path: string): boolean;
  isDirectory(path: string): boolean;
  /**
   * Time of the last change in milliseconds since the Unix epoch; `undefined` when the path does not exist.
   */
  modifiedAt(path: string): number | undefined;
  /** Target of a symbolic link; `undefined` when it is not a link. */
  linkTarget(path: string): string | undefined;
  /** The path without symbolic links. What does not exist of it stays as it is. */
  realPath(path: string): string;
  /**
   * Writes a file atomically; an existing file keeps its mode.
   *
   * @throws SvcError `storage`
   */
  write(path: string, content: string | Uint8Array): void;
  /** Creates a directory and its missing parents. @throws SvcError `storage` */
  makeDirectories(path: string): void;
  /** Removes a file or a link, if it exists. @throws SvcError `storage` */
  remove(path: string): void;
  /** Creates a symbolic link, replacing any file at the path. @throws SvcError `storage` */
  link(path: string, target: string): void;
  /** Writes a kernel file, such as one below /proc/sys, in place. @throws SvcError `storage` */
  poke(path: string, text: string): void;
  /** Whether a program with this name is in the search path. */
  has(program: string): boolean;
  /**
   * @throws SvcError when it cannot be started or exceeds the timeout; the abort reason when the call ends
   */
  run(argv: readonly string[], options?: ProgramOptions): Promise<ProgramResult>;
  /** A fact with a string value, such as `init`; `undefined` when it is unknown. */
  fact(name: string): string | undefined;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Caches an observation of the host until a state is applied. */
  memo<Value>(key: string, find: () => Value): Value;
  /** Clears the cached observations, after a change. */
  forget(): void;
}

/** The part of a function call that concerns the host. */
export interface HostCall {
  clock: Clock;
  signal: AbortSignal;
  facts: { get(path: string): unknown };
  cache?: Map<string, unknown>;
}

const programTimeoutMs = 60_000;
const directoryMode = 0o755;

/** The host this program runs on. The states of one run share cached observations. */
export function systemOf(call: HostCall): System {
  const cache = call.cache ?? new Map<string, unknown>();
  const known = cache.get("system");
  if (known !== undefined) return known as System;
  const system = localSystem(call, cache);
  cache.set("system", system);
  return system;
}

function localSystem({ clock, signal, facts }: HostCall, cache: Map<string, unknown>): System {
  return {
    read(path) {
      const bytes = touching("read", path, () => readIfPresent(path));
      return bytes === undefined ? undefined : textOfBytes(bytes);
    },
    readBytes: (path) => touching("read", path, () => readIfPresent(path)),
    readOwn: (path) => touching("read", path, () => readOwn(path)),
    list: listDirectory,
    exists: existsSync,
    isDirectory: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
    modifiedAt: (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs,
    linkTarget,
    realPath,
    write: (path, content) =>
      touching("write", path, () => {
        const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? publicMode;
        using directory = openParent(path);
        const attributes = { uid: undefined, gid: undefined, mode: mode & 0o7777 };
        const bytes = typeof content === "string" ? bytesOfText(content) : content;
        replaceEntryNow(directory, basename(path), Buffer.from(bytes), attributes);
      }),
    makeDirectories: (path) =>
      touching("create", path, () => {
        const attributes = { uid: undefined, gid: undefined, mode: directoryMode };
        openDirectory(path, (parent, name) => parent.makeDirectory(name, attributes))[Symbol.dispose]();
      }),
    remove: (path) =>
      touching("remove", path, () => {
        using directory = openParent(path);
        directory.remove(basename(path));
      }),
    link: (path, target) =>
      touching("link", path, () => {
        using directory = openParent(path);
        const temporary = temporaryName(basename(path));
        directory.link(temporary, target);
        directory.move(temporary, directory, basename(path));
      }),
    poke: (path, text) =>
      touching("write", path, () => {
        using directory = openParent(path);
        const file = directory.openFile(basename(path), constants.O_WRONLY);
        try {
          writeWhole(file, Buffer.from(text));
        } finally {
          closeSync(file);
        }
      }),
    has: (program) => Bun.which(program, { PATH: programPath, cwd: "/" }) !== null,
    async run(argv, options = {}) {
      const { account, env = {}, timeoutMs = programTimeoutMs, ...rest } = options;
      const result = await runProcess({
        argv,
        env: { ...cleanEnvironment(account), ...env },
        cwd: account?.home ?? "/",
        timeoutMs,
        clock,
        signal,
        ...rest,
        ...defined({ account }),
      });
      signal.throwIfAborted();
      if (result.stopped !== undefined) {
        throw new SvcError("unavailable", `${argv[0]} did not exit within ${timeoutMs / 1000} s`);
      }
      return { code: result.code, stdout: result.stdout.text, stderr: result.stderr.text };
    },
    fact(name) {
      const value = facts.get(name);
      return typeof value === "string" ? value : undefined;
    },
    now: () => clock.now(),
    memo<Value>(key: string, find: () => Value): Value {
      if (!cache.has(key)) cache.set(key, find());
      return cache.get(key) as Value;
    },
    forget: () => cache.clear(),
  };
}

/**
 * Runs a program that must succeed.
 *
 * @param purpose for the error message: `install nginx`
 * @throws SvcError `bad_request` with the last lines of the output
 */
export async function succeed(
  system: System,
  purpose: string,
  argv: readonly string[],
  options: ProgramOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await system.run(argv, options);
  if (code === 0) return stdout;
  const said = lastLines(stderr) || lastLines(stdout);
  throw new SvcError(
    "bad_request",
    `cannot ${purpose}: ${argv[0]} exited with ${code}${said === "" ? "" : `: ${said}`}`,
  );
}

const shownLines = 3;
const shownCharacters = 600;

function lastLines(text: string): string {
  const lines = text.split("\n").flatMap((line) => line.trim() || []);
  return endOf(lines.slice(-shownLines).join("; "), shownCharacters);
}

function linkTarget(path: string): string | undefined {
  return attempt(() => readlinkSync(path));
}

function readIfPresent(path: string): Buffer | undefined {
  try {
    undoOverwriteOf(path);
    return readFileSync(path);
  } catch (cause) {
    if (isErrno(cause, "ENOENT")) return undefined;
    throw cause;
  }
}

function realPath(path: string): string {
  const above = dirname(path);
  return attempt(() => realpathSync(path)) ?? (above === path ? path : join(realPath(above), basename(path)));
}

function readOwn(path: string): string | undefined {
  try {
    using directory = openParent(path);
    const name = basename(path);
    const isFile = directory.stats(name)?.isFile();
    if (isFile === undefined) return undefined;
    if (!isFile) throw new SvcError("bad_request", `${path} is not a regular file`);
    undoOverwrite(directory, name);
    const file = directory.openFile(name, constants.O_RDONLY);
    try {
      return textOfBytes(readFileSync(file));
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    if (isErrno(cause, "ENOENT")) return undefined;
    throw cause;
  }
}

function listDirectory(path: string): string[] {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return touching("read", path, () => readdirSync(path).sort());
}

function touching<Value>(what: string, path: string, run: () => Value): Value {
  try {
    return run();
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    throw new SvcError("storage", `cannot ${what} ${path}: ${reasonOf(cause)}`, { cause });
  }
}
