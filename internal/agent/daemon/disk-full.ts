import { statfsSync } from "node:fs";
import { attempt } from "../../base/errors.ts";
import { describeFullDisk, type FileSystemStats, roomOf } from "../../base/files/disk-room.ts";

/** With less, the record of jobs or the return of one may not fit. */
const minBytes = 256 * 1024;
/** An entry of the outbox is a file, and so is what replaces a file. */
const minFiles = 16;

/**
 * What to report where the disk of a directory has no room for what a job writes.
 *
 * @returns `undefined` while it has room, and where the system does not say
 */
export function findFullDisk(
  directory: string,
  read: (directory: string) => FileSystemStats = statfsSync,
): { message: string; next: string } | undefined {
  const room = attempt(() => roomOf(read(directory)));
  if (room === undefined) return undefined;
  const lacksBytes = room.free < minBytes;
  const lacksFiles = room.files !== undefined && room.files.free < minFiles;
  if (!lacksBytes && !lacksFiles) return undefined;
  return describeFullDisk(room, { files: !lacksBytes }, directory, "the peel");
}
