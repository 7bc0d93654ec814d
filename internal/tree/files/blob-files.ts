import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { open, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf, secretMode, temporaryName } from "../../base/file.ts";
import { digestOf } from "./manifest.ts";

const digestPattern = /^[0-9a-f]{64}$/;

/** Blobs as files that bear their digest as name, for the owner alone: state files may hold anything. */
export interface BlobFiles {
  has(digest: string): boolean;
  /** @returns verified bytes; `undefined` when there is none, or only a damaged one, which is removed */
  read(digest: string): Uint8Array | undefined;
  /** Stores a blob whole or not at all. @throws SvcError `storage` naming the file */
  write(digest: string, data: Uint8Array): Promise<void>;
  /** Removes every blob that is not among these. @returns how many */
  keepOnly(digests: ReadonlySet<string>): number;
}

/** @param dir is made when the first blob is stored */
export function openBlobFiles(dir: string): BlobFiles {
  let known: Set<string> | undefined;
  const pathOf = (digest: string) => join(dir, digest.slice(0, 2), digest);
  const remove = (path: string) => rmSync(path, { force: true });
  const list = (): Set<string> => {
    if (known !== undefined) return known;
    known = new Set();
    for (const shelf of entries(dir)) {
      for (const name of entries(join(dir, shelf))) {
        if (digestPattern.test(name) && name.startsWith(shelf)) known.add(name);
        // What a write left behind that was interrupted.
        else remove(join(dir, shelf, name));
      }
    }
    return known;
  };
  return {
    has: (digest) => list().has(digest),

    read(digest) {
      let data: Uint8Array;
      try {
        data = readFileSync(pathOf(digest));
      } catch (thrown) {
        list().delete(digest);
        if (isErrno(thrown, "ENOENT") || isErrno(thrown, "ENOTDIR")) return undefined;
        throw new SvcError("storage", `cannot read ${pathOf(digest)}: ${reasonOf(thrown)}`, {
          cause: thrown,
        });
      }
      if (digestOf(data) === digest) return data;
      list().delete(digest);
      remove(pathOf(digest));
      return undefined;
    },

    async write(digest, data) {
      const path = pathOf(digest);
      try {
        mkdirSync(join(dir, digest.slice(0, 2)), { recursive: true, mode: 0o700 });
        await writeSynced(path, data);
      } catch (thrown) {
        throw new SvcError("storage", `cannot write ${path}: ${reasonOf(thrown)}`, { cause: thrown });
      }
      list().add(digest);
    },

    keepOnly(digests) {
      const doomed = [...list()].filter((digest) => !digests.has(digest));
      for (const digest of doomed) {
        remove(pathOf(digest));
        list().delete(digest);
      }
      return doomed.length;
    },
  };
}

/** Like `writeFileAtomic`, for many files: nothing else waits for the disk meanwhile. */
async function writeSynced(path: string, data: Uint8Array): Promise<void> {
  const temporary = temporaryName(path);
  try {
    const file = await open(temporary, "wx", secretMode);
    try {
      await file.writeFile(data);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (thrown) {
    await unlink(temporary).catch(() => {});
    throw thrown;
  }
}

function entries(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
