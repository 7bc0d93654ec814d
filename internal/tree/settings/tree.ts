import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf } from "../../base/files/file.ts";
import { sha256Hex } from "../../base/sha256.ts";

/** A snapshot of the files of a settings directory. */
export interface SettingsTree {
  /** The directory, for messages. */
  readonly directory: string;
  /** By path below the directory, with `/`. */
  readonly files: ReadonlyMap<string, TreeFile>;
}

export interface TreeFile {
  /** Changes whenever the content may have changed. */
  readonly stamp: string;
  readonly digest: string;
  /** Absent when the file cannot be used; `problem` says why. */
  readonly text?: string;
  readonly problem?: string;
}

const maxFileBytes = 1024 * 1024;
const maxFiles = 10_000;
const maxDepth = 32;

/**
 * Reads a directory recursively and follows links. Skips names that start with a dot or end with `~`. Does
 * not read a file again whose time, size and inode match `before`.
 *
 * @throws SvcError `bad_request` when a directory cannot be read, or there are too many files
 */
export function readTree(directory: string, before?: SettingsTree): SettingsTree {
  const files = new Map<string, TreeFile>();
  const walk = (below: string, trail: readonly string[]) => {
    const real = resolved(join(directory, below));
    if (real === undefined || trail.includes(real) || trail.length > maxDepth) return;
    for (const name of namesIn(real, below)) {
      const path = below === "" ? name : `${below}/${name}`;
      const stat = statSync(join(real, name), { throwIfNoEntry: false });
      if (stat?.isDirectory()) walk(path, [...trail, real]);
      if (!stat?.isFile()) continue;
      if (files.size >= maxFiles)
        throw new SvcError("bad_request", `${directory}: more than ${maxFiles} files`);
      const stamp = `${stat.mtimeMs} ${stat.ctimeMs} ${stat.size} ${stat.ino}`;
      const known = before?.files.get(path);
      files.set(path, known?.stamp === stamp ? known : readOne(join(real, name), stat.size, stamp));
    }
  };
  walk("", []);
  return { directory, files };
}

/** The paths whose content differs between two trees, including added and removed ones. */
export function changedPaths(before: SettingsTree, after: SettingsTree): Set<string> {
  const changed = new Set<string>();
  for (const [path, { digest }] of after.files) {
    if (before.files.get(path)?.digest !== digest) changed.add(path);
  }
  for (const path of before.files.keys()) if (!after.files.has(path)) changed.add(path);
  return changed;
}

function readOne(path: string, size: number, stamp: string): TreeFile {
  const unusable = (problem: string) => ({ stamp, digest: `problem: ${problem}`, problem });
  if (size > maxFileBytes) return unusable("it is larger than 1 MiB");
  try {
    const bytes = readFileSync(path);
    const digest = sha256Hex(bytes);
    // A text that cannot be read back as it is written would be changed silently.
    return { stamp, digest, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (thrown) {
    return unusable(thrown instanceof TypeError ? "it is not UTF-8 text" : reasonOf(thrown));
  }
}

function resolved(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (thrown) {
    // The file may have been removed since its name was read; without the root, the tree is empty.
    if (isErrno(thrown, "ENOENT") || isErrno(thrown, "ENOTDIR")) return undefined;
    throw new SvcError("bad_request", `cannot read ${path}: ${reasonOf(thrown)}`, { cause: thrown });
  }
}

function namesIn(directory: string, below: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => !name.startsWith(".") && !name.endsWith("~"))
      .sort();
  } catch (thrown) {
    if (below === "" && isErrno(thrown, "ENOTDIR")) return [];
    throw new SvcError("bad_request", `cannot read ${directory}: ${reasonOf(thrown)}`, { cause: thrown });
  }
}
