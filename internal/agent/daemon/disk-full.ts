import { statfsSync } from "node:fs";
import { attempt } from "../../base/errors.ts";

/** With less, the record of jobs or the return of one may not fit. */
const minBytes = 256 * 1024;
/** An entry of the outbox is a file, and so is what replaces a file. */
const minFiles = 16;

/** Whether the disk of a directory has no room for what a job writes; not where the system does not say. */
export function isDiskFull(
  directory: string,
  read: Pick<typeof import("node:fs"), "statfsSync"> = { statfsSync },
): boolean {
  const found = attempt(() => read.statfsSync(directory));
  if (found === undefined) return false;
  // A file system without a limit of inodes counts none.
  return found.bavail * found.bsize < minBytes || (found.files > 0 && found.ffree < minFiles);
}
