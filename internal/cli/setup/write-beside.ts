import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { createFiles, makePrivateDirectory, type NewFile, writing } from "../../base/files/new-files.ts";

/** @throws SvcError `conflict` */
export function assertEmpty(dir: string): void {
  if (!existsSync(dir)) return;
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch (cause) {
    throw new SvcError("conflict", `${dir} is not a directory: choose another directory`, { cause });
  }
  if (names.length > 0)
    throw new SvcError("conflict", `${dir} is not empty: choose another directory, or remove what is in it`);
}

/**
 * Writes files below a directory that does not exist yet or is empty, and makes it appear with all of them.
 *
 * @param empty directories below it that are made too
 * @param finish does the rest in the directory that is renamed
 * @throws SvcError `conflict` for a directory that got content meanwhile, `storage`
 */
export function writeBeside(
  dir: string,
  files: readonly NewFile[],
  empty: readonly string[] = [],
  finish: (beside: string) => void = () => {},
): void {
  writing(dir, () => makePrivateDirectory(dirname(dir)));
  let beside = "";
  writing(dir, () => {
    beside = mkdtempSync(join(dirname(dir), `.${basename(dir)}-`));
  });
  const placed = (path: string) => join(beside, path.slice(dir.length));
  try {
    createFiles(files.map((file) => ({ ...file, path: placed(file.path) })));
    for (const path of empty) writing(path, () => makePrivateDirectory(placed(path)));
    finish(beside);
    assertEmpty(dir);
    // Replaces an empty directory, and no other.
    writing(dir, () => renameSync(beside, dir));
  } catch (cause) {
    rmSync(beside, { recursive: true, force: true });
    throw cause;
  }
}
