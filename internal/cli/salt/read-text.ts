import { readFileSync } from "node:fs";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/files/file.ts";
import { openForReading } from "../../base/files/open-for-reading.ts";

/** A file, opened once: what is read is what was looked at. */
export interface Read {
  bytes: Buffer;
  /** Whether its owner may execute it. */
  executable: boolean;
  /** Its path without symbolic links. */
  path: string;
}

const maxTextBytes = 1024 * 1024;

/**
 * Reads a regular file.
 *
 * @param max the largest size, in bytes
 * @throws SvcError naming the path
 */
export function readBytes(path: string, purpose: string, max: number): Read {
  try {
    using opened = openForReading(path);
    if (opened.stats.size > max) {
      throw new SvcError("bad_request", `${purpose} ${path} is larger than ${max} bytes`);
    }
    return {
      bytes: readFileSync(opened.file),
      executable: (opened.stats.mode & 0o100) !== 0,
      path: opened.path,
    };
  } catch (thrown) {
    if (thrown instanceof SvcError) throw thrown;
    throw new SvcError("bad_request", `cannot read ${purpose} ${path}: ${reasonOf(thrown)}`, {
      cause: thrown,
    });
  }
}

/** The same, as UTF-8 text of at most 1 MiB. */
export function readText(path: string, purpose: string): string {
  return readBytes(path, purpose, maxTextBytes).bytes.toString("utf8");
}
