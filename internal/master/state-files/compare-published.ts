import { SvcError } from "../../base/errors.ts";
import type { CompareFiles } from "../../fleet/approvals/mod.ts";
import { compareSnapshots } from "../../tree/comparison/mod.ts";
import { allPublished, type Catalog } from "../../tree/files/mod.ts";
import type { BlobCache, CatalogView } from "../../tree/publication/mod.ts";

/** Compares snapshots that are published, in any environment. */
export function comparePublished(catalog: Pick<CatalogView, "current">, blobs: BlobCache): CompareFiles {
  return async ({ before, after, withText }, budget) => {
    const current = await catalog.current();
    const manifestOf = (snapshot: string) => manifestWith(current?.catalog, snapshot);
    const of = { before: before && manifestOf(before), after: manifestOf(after), withText };
    return compareSnapshots(blobs, of, budget);
  };
}

/** @throws SvcError `not_found` */
function manifestWith(catalog: Catalog | undefined, snapshot: string): string {
  for (const [, one] of catalog === undefined ? [] : allPublished(catalog)) {
    if (one.snapshot === snapshot) return one.manifest;
  }
  throw new SvcError("not_found", "no longer stored");
}
