import { closeSync, openSync, readlinkSync, readSync } from "node:fs";
import { attempt, SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf } from "../../base/files/file.ts";

/** Reads a configuration file; `undefined` when it does not exist. Tests pass their own map. */
export type ReadFile = (path: string) => string | undefined;

const maxBytes = 1024 * 1024;

/**
 * Reads a file of UTF-8 text of at most 1 MiB.
 *
 * @throws SvcError `bad_request` that names the file; `forbidden` when permission is denied
 */
export const readConfigFile: ReadFile = (path) => {
  try {
    return decode(path, readBounded(path));
  } catch (thrown) {
    if (thrown instanceof SvcError) throw thrown;
    if (isErrno(thrown, "ENOENT")) {
      // Else a daemon would start with the defaults.
      const target = attempt(() => readlinkSync(path));
      if (target === undefined) return undefined;
      throw new SvcError(
        "bad_request",
        `cannot read the configuration ${path}: it is a link to ${target}, which does not exist`,
      );
    }
    if (isErrno(thrown, "ELOOP")) {
      throw new SvcError(
        "bad_request",
        `cannot read the configuration ${path}: it is a link that leads to itself`,
      );
    }
    throw new SvcError(
      isErrno(thrown, "EACCES") ? "forbidden" : "bad_request",
      `cannot read the configuration ${path}: ${reasonOf(thrown)}`,
    );
  }
};

function readBounded(path: string): Uint8Array {
  const file = openSync(path, "r");
  try {
    // Read one byte more than allowed to detect a file that is too large, even when its size is not known in advance.
    const bytes = new Uint8Array(maxBytes + 1);
    let length = 0;
    for (let got = -1; got !== 0 && length < bytes.length; length += got) {
      got = readSync(file, bytes, length, bytes.length - length, null);
    }
    if (length > maxBytes) throw new SvcError("bad_request", `${path}: larger than 1 MiB`);
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

function decode(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new SvcError("bad_request", `${path}: not UTF-8 text`);
  }
}
