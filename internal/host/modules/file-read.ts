import { createHash } from "node:crypto";
import { constants, lstatSync, readlinkSync, readSync, type Stats, statSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { findAccountIfPresent, findGroupIfPresent, type LookupDeps } from "../../base/process/account.ts";
import { wholeCharacters } from "../../base/process/capture.ts";
import { withRegularFile } from "./touch.ts";

/** The most that one call reads: it has to fit into a message, as base64 too. */
export const maxReadBytes = 512 * 1024;
/** The most names that one call lists. */
export const maxEntries = 10_000;
const hashChunkBytes = 1024 * 1024;

/**
 * Reads a part of a regular file.
 *
 * @returns `content`, the `size` of the file, and `next_offset` when there is more
 * @throws SvcError `bad_request` when it is to be text and is not
 */
export function readPart(path: string, offset: number, limit: number, base64: boolean): Promise<Plain> {
  return withRegularFile(path, constants.O_RDONLY, (file, { size }) => {
    const buffer = Buffer.alloc(limit);
    let length = 0;
    for (let got = -1; got !== 0 && length < limit; length += got) {
      got = readSync(file, buffer, length, limit - length, offset + length);
    }
    const more = length === limit && readSync(file, Buffer.alloc(1), 0, 1, offset + length) > 0;
    let bytes = buffer.subarray(0, length);
    // A character that the limit cuts belongs to the next part.
    if (more && !base64) bytes = bytes.subarray(0, wholeCharacters(bytes));
    return {
      content: base64 ? bytes.toString("base64") : textOf(bytes, path),
      // What the kernel makes up as it is read, such as a file of /proc, says 0.
      size: Math.max(size, offset + length),
      ...(more ? { next_offset: offset + bytes.length } : {}),
    };
  });
}

/** Hashes a regular file of any size; ends early when the signal aborts. */
export async function hashFile(path: string, form: string, signal: AbortSignal): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new SvcError("bad_request", `${path} is no regular file`);
    const hash = createHash(form);
    const buffer = Buffer.alloc(hashChunkBytes);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length);
      if (bytesRead === 0) return hash.digest("hex");
      hash.update(buffer.subarray(0, bytesRead));
      signal.throwIfAborted();
    }
  } finally {
    await file.close();
  }
}

/** Names and types of what is in a directory, sorted by name. */
export async function listDirectory(path: string, limit: number): Promise<Plain> {
  const found = await readdir(path, { withFileTypes: true });
  const sorted = found.sort((one, other) => (one.name < other.name ? -1 : 1));
  const entries = sorted.slice(0, limit).map((entry) => ({ name: entry.name, type: typeOf(entry) }));
  return found.length > limit ? { entries, omitted: found.length - limit } : { entries };
}

/** Everything the system knows of a file except its content. */
export async function describeFile(path: string, follow: boolean, deps: LookupDeps): Promise<Plain> {
  const stats = follow ? statSync(path) : lstatSync(path);
  const user = await findAccountIfPresent(`${stats.uid}`, deps);
  const group = await findGroupIfPresent(`${stats.gid}`, deps);
  return {
    type: typeOf(stats),
    size: stats.size,
    mode: (stats.mode & 0o7777).toString(8).padStart(4, "0"),
    uid: stats.uid,
    user: user?.name ?? null,
    gid: stats.gid,
    group: group?.name ?? null,
    inode: stats.ino,
    links: stats.nlink,
    atime: rfc3339(stats.atimeMs),
    mtime: rfc3339(stats.mtimeMs),
    ctime: rfc3339(stats.ctimeMs),
    ...(stats.isSymbolicLink() ? { target: readlinkSync(path) } : {}),
  };
}

type Typed = Pick<
  Stats,
  "isFile" | "isDirectory" | "isSymbolicLink" | "isFIFO" | "isSocket" | "isBlockDevice" | "isCharacterDevice"
>;

function typeOf(entry: Typed): string {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "dir";
  if (entry.isSymbolicLink()) return "link";
  if (entry.isFIFO()) return "pipe";
  if (entry.isSocket()) return "socket";
  if (entry.isBlockDevice()) return "block";
  return entry.isCharacterDevice() ? "char" : "other";
}

function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SvcError("bad_request", `${path} is not UTF-8 text here: read it with base64=true`);
  }
}
