import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");

/**
 * Holds a committed file against what its source says now; `make reference` writes it instead.
 *
 * @param path relative to the repository
 * @throws Error when the file is out of date
 */
export function checkGenerated(path: string, text: string): void {
  const file = join(root, path);
  if (process.env.SVC_WRITE_REFERENCE === "1") writeFileSync(file, text);
  if (readFileSync(file, "utf8") !== text) throw new Error(`${path} is out of date: run make reference`);
}
