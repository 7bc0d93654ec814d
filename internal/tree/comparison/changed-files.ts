import { SvcError } from "../../base/errors.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { decodePage, decodeRoot, type ManifestFile } from "../files/mod.ts";

const readAtOnce = 8;

/** Where blobs are read. */
export interface Blobs {
  get(digest: string): Promise<Uint8Array | undefined>;
}

/** A file that is not the same in two snapshots. */
export interface ChangedFile {
  path: string;
  before?: ManifestFile;
  after?: ManifestFile;
}

/**
 * The files that differ, sorted by path. Pages that both have are not read.
 *
 * @param before digest of a manifest; `undefined` for no files at all
 * @throws SvcError `not_found` for a snapshot that is no longer stored, `storage`
 */
export async function changedFiles(
  blobs: Blobs,
  before: string | undefined,
  after: string,
  signal: AbortSignal,
): Promise<ChangedFile[]> {
  const [older, newer] = [
    before === undefined ? [] : await pagesOf(blobs, before),
    await pagesOf(blobs, after),
  ];
  const [was, is] = [await filesOf(older, newer), await filesOf(newer, older)];
  const changed: ChangedFile[] = [];
  for (const [path, file] of is) {
    const same = was.get(path);
    if (same === undefined) changed.push({ path, after: file });
    else if (same.digest !== file.digest || same.executable !== file.executable) {
      changed.push({ path, before: same, after: file });
    }
  }
  for (const [path, file] of was) if (!is.has(path)) changed.push({ path, before: file });
  return changed.sort((one, other) => (one.path < other.path ? -1 : 1));

  async function filesOf(pages: readonly string[], others: readonly string[]) {
    const own = pages.filter((page) => !others.includes(page));
    const read = await mapBounded(own, { atOnce: readAtOnce, signal }, async (page) =>
      decodePage(await readBlob(blobs, page)),
    );
    return new Map(read.flat().map((file) => [file.path, file]));
  }
}

async function pagesOf(blobs: Blobs, manifest: string): Promise<readonly string[]> {
  return decodeRoot(await readBlob(blobs, manifest)).pages;
}

/** @throws SvcError `not_found`, `storage` */
export async function readBlob(blobs: Blobs, digest: string): Promise<Uint8Array> {
  const data = await blobs.get(digest);
  if (data === undefined) throw new SvcError("not_found", "the files are no longer stored");
  return data;
}
