import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { decode, encode } from "../../base/msgpack.ts";

/** Snapshots of an environment that stay readable, for runs that are pinned to one. */
export const keptSnapshots = 10;
/** Environments that are published at most. */
export const maxEnvironments = 256;

/** A snapshot that was published. */
export interface Published {
  /** Digest of its manifest. */
  manifest: string;
  /** The commits in it, hexadecimal; none when no repository is. */
  commits: readonly string[];
}

/** What is published: the snapshots of each environment, the one in force first. */
export type Catalog = ReadonlyMap<string, readonly Published[]>;

const digest = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const stored = v.object({
  v: v.literal(1),
  environments: v.record(
    v.string(),
    v.array(v.tuple([digest, v.array(v.pipe(v.string(), v.regex(/^[0-9a-f]{40,64}$/)))])),
  ),
});

/** Encodes a catalog; environments are in the order of their names. */
export function encodeCatalog(catalog: Catalog): Uint8Array {
  const entries = [...catalog]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, list]) => [name, list.map(({ manifest, commits }) => [manifest, commits])]);
  return encode({ v: 1, environments: Object.fromEntries(entries) });
}

/** @throws SvcError `storage` when it is none */
export function decodeCatalog(data: Uint8Array): Catalog {
  const parsed = v.safeParse(stored, decode(data));
  if (!parsed.success) throw new SvcError("storage", "the catalog of state files is malformed");
  return new Map(
    Object.entries(parsed.output.environments).map(([name, list]) => [
      name,
      list.map(([manifest, commits]) => ({ manifest, commits })),
    ]),
  );
}

/**
 * Finds a snapshot: the one in force, or the newest with a commit that begins like this.
 *
 * @throws SvcError `not_found` that names what there is not
 */
export function findSnapshot(catalog: Catalog, environment: string, commit?: string): Published {
  const list = catalog.get(environment) ?? [];
  const found =
    commit === undefined
      ? list[0]
      : list.find(({ commits }) => commits.some((known) => known.startsWith(commit)));
  if (found !== undefined) return found;
  const shown = JSON.stringify(environment.slice(0, 100));
  if (list.length === 0) throw new SvcError("not_found", `there is no environment ${shown}`);
  throw new SvcError(
    "not_found",
    `no commit ${commit} among the last ${list.length} snapshots of the environment ${shown}`,
  );
}
