import { SvcError } from "../../base/errors.ts";
import type { OpenedEnvironment } from "../../fleet/plans/mod.ts";
import {
  assembleManifest,
  contentOf,
  createSnapshotSource,
  decodePage,
  decodeRoot,
  findSnapshot,
} from "../../tree/files/mod.ts";
import type { BlobCache, CatalogView } from "../../tree/publication/mod.ts";

/** Opens files that are published. */
export type OpenFiles = (wanted: {
  environment: string;
  commit?: string;
  snapshot?: string;
}) => Promise<OpenedEnvironment>;

export function openPublished(catalog: Pick<CatalogView, "current">, blobs: BlobCache): OpenFiles {
  const read = async (digest: string): Promise<Uint8Array> => {
    const data = await blobs.get(digest);
    if (data !== undefined) return data;
    throw new SvcError("not_found", "the state files are no longer published");
  };
  return async ({ environment, ...wanted }) => {
    const current = await catalog.current();
    if (current === undefined) throw new SvcError("unavailable", "no state files are published yet");
    const found = findSnapshot(current.catalog, environment, wanted);
    const root = decodeRoot(await read(found.manifest));
    const pages = [];
    for (const page of root.pages) pages.push(decodePage(await read(page)));
    return {
      source: createSnapshotSource(found.manifest, assembleManifest(root, pages), read, found.snapshot),
      content: contentOf(environment, found),
    };
  };
}
