import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { type BlobStore, readBlob } from "../../bus/storage/mod.ts";
import {
  allPublished,
  blobsOf,
  type Catalog,
  decodeCatalog,
  decodePage,
  decodeRoot,
  type Published,
} from "../files/mod.ts";

const readAtOnce = 32;

type Root = ReturnType<typeof decodeRoot>;

/** What is published, with all that it consists of. */
export interface PublishedTrees {
  catalog: Catalog;
  /** Roots of snapshots, by digest. */
  roots: Map<string, Root>;
  /** The blobs that the files of a page consist of, by the digest of the page. */
  pages: Map<string, readonly string[]>;
}

interface ReadDeps {
  store: Pick<BlobStore, "get">;
  log: Log;
}

/** The catalog; an unreadable one counts as missing, and everything is published again. */
export async function readCatalog({ store, log }: ReadDeps, digest: string): Promise<Catalog | undefined> {
  const data = await readBlob(store, digest);
  try {
    if (data === undefined) throw new SvcError("storage", "it is damaged");
    return decodeCatalog(data);
  } catch (thrown) {
    log.error("the catalog of state files cannot be read: everything is published again", {
      reason: describeError(thrown),
    });
    return undefined;
  }
}

/** What a catalog names; a snapshot that cannot be read is left out. */
export async function readPublished({ store, log }: ReadDeps, catalog: Catalog): Promise<PublishedTrees> {
  const roots: PublishedTrees["roots"] = new Map();
  const pages: PublishedTrees["pages"] = new Map();
  const read = async (digest: string) => {
    const data = await readBlob(store, digest);
    if (data !== undefined) return data;
    throw new SvcError("storage", `the blob ${digest} is damaged or not there`);
  };
  const readSnapshot = async (manifest: string) => {
    const root = roots.get(manifest) ?? decodeRoot(await read(manifest));
    await mapBounded(root.pages, { atOnce: readAtOnce }, async (page) => {
      if (!pages.has(page)) pages.set(page, decodePage(await read(page)).flatMap(blobsOf));
    });
    roots.set(manifest, root);
  };
  const readableOf = async <One extends Published>(lists: ReadonlyMap<string, readonly One[]>) => {
    const readable = new Map<string, readonly One[]>();
    for (const [name, list] of lists) {
      const good: One[] = [];
      for (const item of list) {
        try {
          await readSnapshot(item.manifest);
          good.push(item);
        } catch (thrown) {
          log.error("a snapshot of state files cannot be read and is left out", {
            environment: name,
            manifest: item.manifest,
            reason: describeError(thrown),
          });
        }
      }
      if (good.length > 0) readable.set(name, good);
    }
    return readable;
  };
  const environments = await readableOf(catalog.environments);
  const candidates = await readableOf(catalog.candidates);
  const held = await readableOf(catalog.held);
  return { catalog: { environments, candidates, held }, roots, pages };
}

/** Digests of everything that the snapshots of a catalog consist of. */
export function referencedBy({ catalog, roots, pages }: PublishedTrees): Set<string> {
  const referenced = new Set<string>();
  for (const [, { manifest }] of allPublished(catalog)) {
    referenced.add(manifest);
    for (const page of roots.get(manifest)?.pages ?? []) {
      referenced.add(page);
      for (const blob of pages.get(page) ?? []) referenced.add(blob);
    }
  }
  return referenced;
}
