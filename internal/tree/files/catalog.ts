import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { record } from "../../base/record.ts";

/** Number of snapshots of an environment that stay readable, for runs pinned to a commit. */
export const keptSnapshots = 10;

/** A published snapshot. */
export interface Published {
  /** Digest of its manifest. */
  manifest: string;
  /** Commit ids in hexadecimal; empty when no repository contributed to the snapshot. */
  commits: readonly string[];
}

/** The published snapshots of each environment; the first is the one in force. */
export type Catalog = ReadonlyMap<string, readonly Published[]>;

const digest = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const commit = v.pipe(v.string(), v.regex(/^[0-9a-f]{40,64}$/));
const stored = record(
  "catalog",
  { environments: v.record(v.string(), v.array(v.tuple([digest, v.array(commit)]))) },
  {
    ...{ version: 1, isOpen: true },
    malformed: () => new SvcError("storage", "the catalog of state files is malformed"),
  },
);

/** Encodes a catalog; environments are sorted by name. */
export function encodeCatalog(catalog: Catalog): Uint8Array {
  const entries = [...catalog]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, list]): [string, [string, string[]][]] => [
      name,
      list.map(({ manifest, commits }) => [manifest, [...commits]]),
    ]);
  return stored.encode({ environments: Object.fromEntries(entries) });
}

/** @throws SvcError `storage` when the data is not a catalog */
export function decodeCatalog(data: Uint8Array): Catalog {
  return new Map(
    Object.entries(stored.decode(data).environments).map(([name, list]) => [
      name,
      list.map(([manifest, commits]) => ({ manifest, commits })),
    ]),
  );
}

/**
 * Finds a snapshot: the one in force, or the newest one with a commit that starts with `commit`.
 *
 * @throws SvcError `not_found` naming the missing environment or commit
 */
export function findSnapshot(catalog: Catalog, environment: string, commit?: string): Published {
  const list = catalog.get(environment) ?? [];
  const found =
    commit === undefined
      ? list[0]
      : list.find(({ commits }) => commits.some((known) => known.startsWith(commit)));
  if (found !== undefined) return found;
  const shown = JSON.stringify(environment.slice(0, 100));
  if (list.length === 0) throw new SvcError("not_found", `environment ${shown} does not exist`);
  throw new SvcError(
    "not_found",
    `no commit ${commit} among the last ${list.length} snapshots of the environment ${shown}`,
  );
}
