import * as v from "valibot";
import { quote } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import { record } from "../../base/record.ts";
import { optional } from "../../base/record-kinds.ts";
import type { SnapshotOrigin } from "./manifest.ts";

/** Number of snapshots of an environment that stay readable, for runs pinned to a commit. */
export const keptSnapshots = 10;

/** A published snapshot. */
export interface Published {
  /** Digest of its manifest. */
  manifest: string;
  /** Digest of its files alone: see `snapshotOf`. Empty where the version before published it. */
  snapshot: string;
  origin: SnapshotOrigin;
  /** When it came into force, milliseconds since the Unix epoch; absent where the version before published it. */
  since?: number;
}

/** A snapshot that waits for a release. */
interface Candidate extends Published {
  /** When masters found it, milliseconds since the Unix epoch. */
  since: number;
}

/** The published snapshots of each environment. */
export interface Catalog {
  /** The first of each list is the one in force; the others stay readable for runs of an earlier commit. */
  environments: ReadonlyMap<string, readonly Published[]>;
  /** What waits for a release, the newest first. An environment may have these and nothing in force. */
  candidates: ReadonlyMap<string, readonly Candidate[]>;
  /** Older ones that something unfinished still names, such as a request that waits for others. */
  held: ReadonlyMap<string, readonly Published[]>;
}

export const emptyCatalog = (): Catalog => ({
  environments: new Map(),
  candidates: new Map(),
  held: new Map(),
});

const digest = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const commit = v.pipe(v.string(), v.regex(/^[0-9a-f]{40,64}$/));
const source = v.pipe(
  v.tuple([v.string(), v.string(), commit]),
  v.transform(([remote, ref, id]) => ({ remote, ref, commit: id })),
);
/** As the version before published it: its files have no digest, so nothing that is bound to one finds it. */
const publishedBefore = v.pipe(
  v.tuple([digest, v.array(commit)]),
  v.transform(
    ([manifest, commits]): Published => ({
      manifest,
      snapshot: "",
      origin: { directory: false, commits: commits.map((id) => ({ remote: "", ref: "", commit: id })) },
    }),
  ),
);
// The commits alone are for peels of the version before.
const row = [digest, v.array(commit), digest, v.boolean(), v.array(source)] as const;
const published = v.pipe(
  v.tuple(row),
  v.transform(
    ([manifest, , snapshot, directory, commits]): Published => ({
      manifest,
      snapshot,
      origin: { directory, commits },
    }),
  ),
);
const candidate = v.pipe(
  v.tuple([...row, v.pipe(v.number(), v.integer())]),
  v.transform(
    ([manifest, , snapshot, directory, commits, since]): Candidate => ({
      manifest,
      snapshot,
      origin: { directory, commits },
      since,
    }),
  ),
);
type Lists<One> = ReadonlyMap<string, readonly One[]>;
/** The snapshots of each environment, sorted by its name. */
const listsOf = <One>(one: v.GenericSchema<unknown, One>, encodeOne: (found: One) => unknown) => ({
  read: v.pipe(
    v.record(v.string(), v.array(one)),
    v.transform((found): Lists<One> => new Map(Object.entries(found))),
  ),
  write: (found: Lists<One>) =>
    Object.fromEntries(
      [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, list]) => [name, list.map(encodeOne)]),
    ),
});
const encodePublished = ({ manifest, snapshot, origin: { directory, commits }, since }: Published) => [
  manifest,
  commits.map(({ commit: id }) => id),
  snapshot,
  directory,
  commits.map(({ remote, ref, commit: id }) => [remote, ref, id]),
  ...(since === undefined ? [] : [since]),
];
const lists = listsOf<Published>(v.union([candidate, published, publishedBefore]), encodePublished);
const candidateLists = listsOf<Candidate>(candidate, encodePublished);
const stored = record(
  "catalog",
  { environments: lists, candidates: optional(candidateLists), held: optional(lists) },
  {
    ...{ version: 1, isOpen: true },
    malformed: () => new SvcError("storage", "the catalog of state files is malformed"),
  },
);

/** Encodes a catalog; environments are sorted by name. */
export function encodeCatalog({ environments, candidates, held }: Catalog): Uint8Array {
  return stored.encode({
    environments,
    ...(candidates.size === 0 ? {} : { candidates }),
    ...(held.size === 0 ? {} : { held }),
  });
}

/** @throws SvcError `storage` when the data is not a catalog */
export function decodeCatalog(data: Uint8Array): Catalog {
  const { environments, candidates = new Map(), held = new Map() } = stored.decode(data);
  return { environments, candidates, held };
}

/** All snapshots of a catalog, with the environment of each. */
export function* allPublished({ environments, candidates, held }: Catalog): Generator<[string, Published]> {
  for (const lists of [environments, candidates, held]) {
    for (const [name, list] of lists) for (const one of list) yield [name, one];
  }
}

/** Which snapshot of an environment is meant; the one in force where neither is given. */
export interface WantedSnapshot {
  /** Its first hexadecimal digits. */
  commit?: string | undefined;
  snapshot?: string | undefined;
}

/**
 * Finds a snapshot: the one in force, the newest one with a commit, or the one with exactly these files. A commit or
 * files may also be those of a candidate.
 *
 * @throws SvcError `not_found` naming the missing environment, commit or snapshot
 */
export function findSnapshot(
  { environments, candidates, held }: Catalog,
  environment: string,
  { commit: start, snapshot }: WantedSnapshot = {},
): Published {
  const list = environments.get(environment) ?? [];
  const waiting = candidates.get(environment) ?? [];
  if (snapshot !== undefined) {
    const all = [...list, ...waiting, ...(held.get(environment) ?? [])];
    const found = all.find((one) => one.snapshot === snapshot);
    if (found !== undefined) return found;
    throw new SvcError("not_found", `the state files ${snapshot.slice(0, 12)} are no longer published`);
  }
  const known = [...list, ...waiting];
  const found =
    start === undefined
      ? list[0]
      : known.find(({ origin }) => origin.commits.some(({ commit: id }) => id.startsWith(start)));
  if (found !== undefined) return found;
  const shown = quote(environment, 100);
  if (known.length === 0)
    throw new SvcError(
      "not_found",
      `environment ${shown} does not exist: gitfs.base, gitfs.environments and gitfs.tags of the masters name those that do`,
    );
  if (start === undefined) throw new SvcError("not_found", nothingReleased(environment));
  throw new SvcError(
    "not_found",
    `no commit ${start} among the last ${known.length} snapshots of the environment ${shown}`,
  );
}

function nothingReleased(environment: string): string {
  const [files, option] =
    environment === "base"
      ? ["no state files", ""]
      : [`no state files of ${environment}`, ` --environment ${environment}`];
  return `${files} are released: an operator releases them with svc states release${option}`;
}
