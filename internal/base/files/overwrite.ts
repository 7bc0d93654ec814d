import { fstatSync, fsyncSync, ftruncateSync, readFileSync, writeSync } from "node:fs";
import { type FileAttributes, setOwnerAndMode } from "./owner-and-mode.ts";

/**
 * Replaces the content of an open file in place, for a file that no rename can replace: a mount point, as /etc/hosts
 * in a container. If that fails, as on a full disk, the file has its old content again. What is short is written in
 * one piece, so that the end of this process leaves the old content or the new one.
 *
 * @param file open for reading and writing, at its beginning
 */
export function overwrite(file: number, data: Uint8Array, attributes: FileAttributes): void {
  const stats = fstatSync(file);
  if (!stats.isFile()) throw Object.assign(new Error("not a regular file"), { code: "EBUSY" });
  const before = readFileSync(file);
  // Before the content: what only its owner may read never lies open.
  setOwnerAndMode(file, attributes);
  try {
    writeFrom(file, data);
    fsyncSync(file);
  } catch (cause) {
    writeFrom(file, before);
    setOwnerAndMode(file, { uid: stats.uid, gid: stats.gid, mode: stats.mode & 0o7777 });
    throw cause;
  }
}

function writeFrom(file: number, data: Uint8Array): void {
  for (let at = 0; at < data.length; ) at += writeSync(file, data, at, data.length - at, at);
  ftruncateSync(file, data.length);
}
