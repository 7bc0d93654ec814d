import { fstatSync, fsyncSync, ftruncateSync, readFileSync, type Stats, writeSync } from "node:fs";
import { type FileAttributes, setOwnerAndMode } from "./owner-and-mode.ts";

/** Where the old content is while a file is written in place. */
interface Notes {
  begin(before: Buffer, stats: Stats): void;
  end(): void;
}

/**
 * Replaces the content of an open file in place, for a file that no rename can replace: a mount point, as /etc/hosts
 * in a container. If that fails, as on a full disk, the file has its old content again.
 *
 * @param file open for reading and writing, at its beginning
 */
export function overwrite(file: number, data: Uint8Array, attributes: FileAttributes, notes?: Notes): void {
  const stats = fstatSync(file);
  if (!stats.isFile()) throw Object.assign(new Error("not a regular file"), { code: "EBUSY" });
  const before = readFileSync(file);
  notes?.begin(before, stats);
  try {
    // What only its owner may read never lies open, be it the old content or the new one.
    const { mode } = attributes;
    setOwnerAndMode(file, { ...attributes, mode: mode === undefined ? undefined : mode & stats.mode });
    writeFrom(file, data);
    setOwnerAndMode(file, attributes);
    fsyncSync(file);
  } catch (cause) {
    writeFrom(file, before);
    setOwnerAndMode(file, { uid: stats.uid, gid: stats.gid, mode: stats.mode & 0o7777 });
    notes?.end();
    throw cause;
  }
  notes?.end();
}

function writeFrom(file: number, data: Uint8Array): void {
  for (let at = 0; at < data.length; ) at += writeSync(file, data, at, data.length - at, at);
  ftruncateSync(file, data.length);
}
