import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { open, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf, secretMode, temporaryName } from "../../base/file.ts";
import { sha256Hex } from "../../base/sha256.ts";

const digestPattern = /^[0-9a-f]{64}$/;

/**
 * Blobs as files named by their digest. Only the owner can read them, because state files may contain
 * secrets.
 */
export interface BlobFiles {
  has(digest: string): boolean;
  /** @returns verified bytes; `undefined` when the blob is missing, or is damaged and was removed */
  read(digest: string): Uint8Array | undefined;
  /** Stores a blob atomically. @throws SvcError `storage` naming the file */
  write(digest: string, data: Uint8Array): Promise<void>;
  /** Removes every blob that is not listed. @returns how many */
  keepOnly(digests: ReadonlySet<string>): number;
}

/** @param dir created when the first blob is stored */
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
        // A leftover of an interrupted write.
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
      if (sha256Hex(data) === digest) return data;
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

/** Like `writeFileAtomic`, but asynchronous, so that writing many files does not block other work. */
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
