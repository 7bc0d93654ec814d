import { SvcError } from "../../base/errors.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { BlobStore } from "../../bus/storage/mod.ts";
import type { Content, Contents } from "../files/mod.ts";
import { blobsOf, type EncodedManifest } from "../files/mod.ts";

/** Blobs under way to the bus at a time. */
const uploads = 32;

/**
 * Stores what snapshots consist of.
 *
 * @param present digests that need not be stored again; those that were stored are added
 * @returns how many blobs travelled, and their bytes
 * @throws SvcError `conflict` when a file changed meanwhile, `storage`
 */
export async function uploadSnapshots(
  store: Pick<BlobStore, "put">,
  present: Set<string>,
  snapshots: readonly { manifest: EncodedManifest; files: Contents }[],
): Promise<{ blobs: number; bytes: number }> {
  const wanted: { path: string; digests: readonly string[]; from: Pick<Content, "pieces"> }[] = [];
  const taken = new Set<string>();
  const want = (path: string, all: readonly string[], from: Pick<Content, "pieces">) => {
    const digests = all.filter((digest) => !present.has(digest) && !taken.has(digest));
    for (const digest of digests) taken.add(digest);
    if (digests.length > 0) wanted.push({ path, digests, from });
  };
  for (const { manifest, files } of snapshots) {
    for (const page of manifest.pages.values()) {
      for (const file of page) {
        const content = files.get(file.path);
        if (content !== undefined) want(file.path, blobsOf(file), content);
      }
    }
    for (const [digest, data] of manifest.blobs) want(digest, [digest], { pieces: () => only(data) });
  }
  let bytes = 0;
  await mapBounded(wanted, { atOnce: uploads }, async ({ path, digests, from }) => {
    const missing = new Set(digests);
    for await (const piece of from.pieces()) {
      const digest = sha256Hex(piece);
      if (!missing.delete(digest)) continue;
      await store.put(digest, piece);
      present.add(digest);
      bytes += piece.length;
    }
    if (missing.size === 0) return;
    throw new SvcError("conflict", `the state file ${path} changed during publication`);
  });
  return { blobs: taken.size, bytes };
}

async function* only(data: Uint8Array): AsyncGenerator<Uint8Array> {
  yield data;
}
