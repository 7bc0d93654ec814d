import { fdatasync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { attempt, SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf, secretMode } from "../../base/files/file.ts";
import { openDirectory, openParent } from "../../base/files/opened-directory.ts";
import { replaceEntry, writeWhole } from "../../base/files/replace-entry.ts";
import { sha256Hex } from "../../base/sha256.ts";

const unchanged = { uid: undefined, gid: undefined };
const sync = promisify(fdatasync);
const digestPattern = /^[0-9a-f]{64}$/;

/**
 * Blobs as files named by their digest. Only the owner can read them, because state files may contain
 * secrets.
 */
export interface BlobFiles {
  has(digest: string): boolean;
  /** @returns verified bytes; `undefined` when the blob is missing, or is damaged and was removed */
  read(digest: string): Uint8Array | undefined;
  /** Every blob that can be read, one after another. */
  each(): Iterable<Uint8Array>;
  /** Stores a blob atomically. @throws SvcError `storage` naming the file */
  write(digest: string, data: Uint8Array): Promise<void>;
  /** Removes every blob that is not listed. @returns how many */
  removeOthers(digests: ReadonlySet<string>): number;
}

/** @param dir created when the first blob is stored */
export function openBlobFiles(dir: string): BlobFiles {
  let known: Set<string> | undefined;
  const pathOf = (digest: string) => join(dir, digest.slice(0, 2), digest);
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
  const files: BlobFiles = {
    has: (digest) => list().has(digest),

    *each() {
      for (const digest of [...list()]) {
        const data = attempt(() => files.read(digest));
        if (data !== undefined) yield data;
      }
    },

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
        await writeSynced(path, data);
      } catch (thrown) {
        throw new SvcError("storage", `cannot write ${path}: ${reasonOf(thrown)}`, { cause: thrown });
      }
      list().add(digest);
    },

    removeOthers(digests) {
      const doomed = [...list()].filter((digest) => !digests.has(digest));
      for (const digest of doomed) {
        remove(pathOf(digest));
        list().delete(digest);
      }
      return doomed.length;
    },
  };
  return files;
}

/** Does not block other work while the disk writes. */
async function writeSynced(path: string, data: Uint8Array): Promise<void> {
  using shelf = openDirectory(dirname(path), (parent, name) =>
    parent.makeDirectory(name, { ...unchanged, mode: 0o700 }),
  );
  await replaceEntry(shelf, basename(path), {
    attributes: { ...unchanged, mode: secretMode },
    async fill(file) {
      writeWhole(file, data);
      await sync(file);
    },
  });
}

function remove(path: string): void {
  using shelf = openParent(path);
  shelf.remove(basename(path));
}

function entries(directory: string): string[] {
  return attempt(() => readdirSync(directory), []);
}
