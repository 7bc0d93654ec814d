import { allPublished, type Catalog, keptSnapshots, type Published } from "../files/mod.ts";
import type { EncodedEnvironment } from "./encode-environment.ts";

/**
 * The catalog with these environments, and what changes with it.
 *
 * @param unchanged environments that stay
 * @param held snapshots that stay readable
 */
export function nextCatalog(
  catalog: Catalog,
  encoded: readonly ({ name: string } & EncodedEnvironment)[],
  unchanged: readonly string[],
  held: ReadonlySet<string>,
): { next: Catalog; changed: string[]; gone: string[]; isHeldDifferently: boolean } {
  const environments = new Map<string, readonly Published[]>();
  const changed: string[] = [];
  for (const name of unchanged) {
    const list = catalog.environments.get(name);
    if (list !== undefined) environments.set(name, list);
  }
  for (const { name, manifest, snapshot } of encoded) {
    const list = catalog.environments.get(name) ?? [];
    if (list[0]?.manifest === manifest.digest && list[0].snapshot === snapshot) {
      environments.set(name, list);
      continue;
    }
    changed.push(name);
    const { digest } = manifest;
    const older = list.filter((item) => item.manifest !== digest);
    const newest = { manifest: digest, snapshot, origin: manifest.root.origin };
    environments.set(name, [newest, ...older].slice(0, keptSnapshots));
  }
  const next = { environments, held: heldBehind(catalog, environments, held) };
  return {
    next,
    changed,
    gone: [...catalog.environments.keys()].filter((name) => !environments.has(name)),
    isHeldDifferently: !Bun.deepEquals(next.held, catalog.held),
  };
}

/** The snapshots that the next lists no longer have, and something still names. */
function heldBehind(
  catalog: Catalog,
  environments: Catalog["environments"],
  held: ReadonlySet<string>,
): Catalog["held"] {
  const behind = new Map<string, Published[]>();
  for (const [name, one] of allPublished(catalog)) {
    const listed = environments.get(name) ?? [];
    const others = behind.get(name) ?? [];
    const isKnown = [...listed, ...others].some(({ snapshot }) => snapshot === one.snapshot);
    if (held.has(one.snapshot) && !isKnown) behind.set(name, [...others, one]);
  }
  return behind;
}
