import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf } from "../../base/files/file.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { FileSource, SourceFile } from "./files.ts";
import { maxFileBytes, pathProblem } from "./manifest.ts";
import { ownerExecutes } from "./scan-directory.ts";
import { below, noFile } from "./snapshot-source.ts";
import { unreadable, walkDirectory } from "./walk-directory.ts";

/**
 * Serves the current files of a directory on this host, to check states in a pipeline and to apply them
 * without a master. It has the files that a master would publish: symbolic links are left out.
 *
 * @throws SvcError `bad_request` when it is not a directory
 */
export function createDirectorySource(root: string, environment = "base"): FileSource {
  const top = realTop(root);
  const directories = new Map<string, string>();
  // Resolving a path is most of the cost of a lookup, and a tree has far more files than directories.
  const realDirectory = (path: string): string => {
    const known = directories.get(path);
    if (known !== undefined) return known;
    const real = realpathSync(join(top, path));
    directories.set(path, real);
    return real;
  };
  const locate = (path: string): { real: string; size: number; mode: number } | undefined => {
    if (pathProblem(path) !== undefined) return undefined;
    try {
      const parent = realDirectory(dirname(path));
      if (parent !== join(top, dirname(path))) return undefined;
      const real = join(parent, basename(path));
      const stat = lstatSync(real);
      if (!stat.isFile() || stat.size > maxFileBytes) return undefined;
      return { real, size: stat.size, mode: stat.mode };
    } catch (thrown) {
      if (isErrno(thrown, "ENOENT") || isErrno(thrown, "ENOTDIR") || isErrno(thrown, "ELOOP"))
        return undefined;
      throw unreadable(join(root, path), thrown);
    }
  };
  const load = (real: string): Buffer => {
    try {
      return readFileSync(real);
    } catch (thrown) {
      throw unreadable(real, thrown);
    }
  };
  return {
    environment,
    stat(path): SourceFile | undefined {
      const found = locate(path);
      if (found === undefined) return undefined;
      const { real, size, mode } = found;
      let digest: string | undefined;
      return {
        size,
        executable: (mode & ownerExecutes) !== 0,
        // Most callers only check whether a file exists, so its digest is computed on demand.
        get digest() {
          digest ??= sha256Hex(load(real));
          return digest;
        },
      };
    },
    async read(path) {
      const found = locate(path);
      if (found === undefined) throw noFile(path, environment);
      return load(found.real);
    },
    list(directory) {
      const paths = [...walkDirectory(top, [])].map(({ path }) => path);
      return below(paths.sort(), directory).filter((path) => locate(path) !== undefined);
    },
  };
}

function realTop(root: string): string {
  try {
    if (statSync(root).isDirectory()) return realpathSync(root);
  } catch (thrown) {
    throw new SvcError("bad_request", `cannot read the directory ${root}: ${reasonOf(thrown)}`);
  }
  throw new SvcError("bad_request", `${root} is not a directory`);
}
