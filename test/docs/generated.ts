import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");

/**
 * Holds a committed file against what its source says now; `make reference` writes it instead.
 *
 * @param path relative to the repository
 * @throws Error when the file is out of date, or a value of its source was missing
 */
export function checkGenerated(path: string, text: string): void {
  const missing = findMissing(text);
  if (missing !== undefined) throw new Error(`${path}: a value of its source is missing: ${missing}`);
  const file = join(root, path);
  if (process.env.SVC_WRITE_REFERENCE === "1") writeFileSync(file, text);
  if (readFileSync(file, "utf8") !== text) throw new Error(`${path} is out of date: run make reference`);
}

/** The first line where a cell or a sentence is a value that was not there; `undefined` is also a word of templates. */
export function findMissing(text: string): string | undefined {
  return text
    .split("\n")
    .find((line) =>
      /(?:^|\| |[:(] )(?:undefined|NaN|null|\[object Object\])(?=$|[ .,)]*(?:\||$))/.test(line),
    );
}
