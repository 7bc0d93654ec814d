import {
  chmodSync,
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { SvcError } from "../errors.ts";
import { systemRandom } from "../id.ts";
import { errnoWords } from "./errno-words.ts";
import { overwrite } from "./overwrite.ts";

/** Mode of a file that holds a secret. */
export const secretMode = 0o600;
/** Mode of a file that every user of the host may read. */
export const publicMode = 0o644;

/**
 * Writes a file atomically: a temporary file that has the final mode from its first byte, fsync,
 * rename, fsync of the directory. A file that is a mount is written in place.
 *
 * @param mode permission bits, whatever the umask says
 */
export function writeFileAtomic(path: string, data: string | Uint8Array, mode: number): void {
  const temporary = writeTemporary(path, data, mode);
  try {
    renameSync(temporary, path);
  } catch (cause) {
    unlinkSync(temporary);
    if (!isErrno(cause, "EBUSY")) throw cause;
    writeInPlace(path, data, mode);
  }
  syncDirectory(dirname(path));
}

function writeInPlace(path: string, data: string | Uint8Array, mode: number): void {
  const file = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    overwrite(file, Buffer.from(data), { uid: undefined, gid: undefined, mode });
  } finally {
    closeSync(file);
  }
}

/**
 * Same as `writeFileAtomic`, for a file that must not exist yet. It never replaces a file, even in a race.
 *
 * @throws SvcError `conflict` when the file exists
 */
export function createFileAtomic(path: string, data: string | Uint8Array, mode: number): void {
  const temporary = writeTemporary(path, data, mode);
  try {
    linkSync(temporary, path);
  } catch (cause) {
    if (isErrno(cause, "EEXIST")) {
      throw new SvcError("conflict", `${path} already exists and is not overwritten`);
    }
    throw cause;
  } finally {
    unlinkSync(temporary);
  }
  syncDirectory(dirname(path));
}

/** Creates a directory and its parents. The directory itself gets `mode`, even when it already existed. */
export function makeDirectory(path: string, mode: number): void {
  mkdirSync(path, { recursive: true, mode });
  chmodSync(path, mode);
}

/** Reads a file as UTF-8 text; `undefined` when it does not exist. */
export function readTextIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (isErrno(cause, "ENOENT")) return undefined;
    throw cause;
  }
}

/**
 * Reads a file that must exist.
 *
 * @param purpose what the file is, for the message: "the bus CA"
 * @throws SvcError `bad_request` with the path and the reason
 */
export function readTextFile(path: string, purpose: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new SvcError("bad_request", `cannot read ${purpose} ${path}: ${reasonOf(cause)}`);
  }
}

/** Whether an error of the operating system has this code. */
export function isErrno(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === code;
}

/** Describes why an operation on a file or address failed. */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof Error && "code" in thrown && typeof thrown.code === "string") {
    return errnoWords[thrown.code] ?? thrown.code;
  }
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The longest name of a directory entry that Linux file systems have, in bytes. */
const maxNameBytes = 255;

/** An unguessable name in the same directory, for a file that replaces this one by rename. */
export function temporaryName(path: string): string {
  const suffix = `.${Buffer.from(systemRandom(6)).toString("hex")}`;
  return join(dirname(path), `.${cutToBytes(basename(path), maxNameBytes - 1 - suffix.length)}${suffix}`);
}

/** The longest prefix of a name that fits a number of bytes, and ends with a whole character. */
function cutToBytes(name: string, bytes: number): string {
  let length = 0;
  let cut = "";
  for (const character of name) {
    length += Buffer.byteLength(character);
    if (length > bytes) break;
    cut += character;
  }
  return cut;
}

function writeTemporary(path: string, data: string | Uint8Array, mode: number): string {
  const temporary = temporaryName(path);
  const bytes = typeof data === "string" ? Buffer.from(data, "utf8") : data;
  // Created without permissions for group and others, whatever the final mode: no other user can open it early.
  const file = openSync(temporary, "wx", mode & 0o700);
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } catch (cause) {
    unlinkSync(temporary);
    throw cause;
  } finally {
    closeSync(file);
  }
  chmodSync(temporary, mode);
  return temporary;
}

/** Makes a rename in this directory durable. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
