import { lstatSync, readdirSync, realpathSync } from "node:fs";
import { join, sep } from "node:path";
import { quote } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf } from "../../base/files/file.ts";
import { pathProblem, skippedNames } from "./manifest.ts";

const maxDepth = 32;

/**
 * Finds the files below a directory, in no particular order.
 *
 * @param warnings receives a line for every omitted entry
 * @param followsLinks to follow symbolic links inside the directory; without it they are left out, as from a
 *   repository, so that equal files are one snapshot wherever they lie
 * @returns the relative path and the real path of each file; nothing for a missing directory
 * @throws SvcError `storage` when a directory cannot be read
 */
export function* walkDirectory(
  root: string,
  warnings: string[],
  { followsLinks = false }: { followsLinks?: boolean } = {},
): Generator<{ path: string; real: string }> {
  let top: string;
  try {
    top = realpathSync(root);
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT")) return;
    throw unreadable(root, thrown);
  }
  const pending = [{ path: "", real: top, above: [top] }];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    for (const entry of entriesOf(at.real)) {
      const path = at.path === "" ? entry.name : `${at.path}/${entry.name}`;
      let real = join(at.real, entry.name);
      if (skippedNames.has(entry.name)) continue;
      const problem = pathProblem(path);
      if (problem !== undefined) {
        warnings.push(`${quote(path, 200)}: ${problem}; not published`);
        continue;
      }
      if (entry.isSymbolicLink()) {
        if (!followsLinks) {
          warnings.push(`${path}: a symbolic link: put the file itself there; not published`);
          continue;
        }
        const target = targetOf(real, top);
        if (target === undefined) {
          warnings.push(`${path}: a broken symbolic link, or one to a target outside ${root}; not published`);
          continue;
        }
        real = target;
      }
      const kind = entry.isSymbolicLink() ? lstatSync(real, { throwIfNoEntry: false }) : entry;
      if (kind?.isFile() === true) yield { path, real };
      else if (kind?.isDirectory() === true) {
        if (followsLinks && (at.above.includes(real) || at.above.length > maxDepth)) {
          warnings.push(`${path}: a directory cycle, or directories nested too deep; not published`);
        } else pending.push({ path, real, above: [...at.above, real] });
      } else if (kind !== undefined) warnings.push(`${path}: neither a file nor a directory; not published`);
    }
  }
}

function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT")) return [];
    throw unreadable(directory, thrown);
  }
}

/** The target of a link, when it is inside `top`. */
function targetOf(link: string, top: string): string | undefined {
  try {
    const target = realpathSync(link);
    return target.startsWith(top + sep) ? target : undefined;
  } catch {
    return undefined;
  }
}

export function unreadable(path: string, thrown: unknown): SvcError {
  return new SvcError("storage", `cannot read ${path}: ${reasonOf(thrown)}`, { cause: thrown });
}
