import { readdirSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isErrno } from "./file.ts";

const suffix = /^\.[0-9a-f]{12}$/;

/**
 * Removes the temporary files that interrupted writes of these files left: some of them hold a secret that an
 * operator believes to be elsewhere. No other process may be writing these files.
 *
 * @throws what the file system throws
 */
export function removeLeftovers(paths: readonly string[]): void {
  for (const directory of new Set(paths.map((path) => dirname(path)))) {
    const names = paths.filter((path) => dirname(path) === directory).map((path) => `.${basename(path)}`);
    for (const entry of entriesOf(directory)) {
      const isLeft = names.some((name) => entry.startsWith(name) && suffix.test(entry.slice(name.length)));
      if (isLeft) unlinkSync(join(directory, entry));
    }
  }
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (cause) {
    if (isErrno(cause, "ENOENT")) return [];
    throw cause;
  }
}
