import { type Clock, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import { type Catalog, contentOf, emptyCatalog, findSnapshot, type Published } from "../../tree/files/mod.ts";
import type { CatalogView } from "../../tree/publication/mod.ts";
import type { Content } from "../../wire/content.ts";
import { localCommit } from "../../wire/content-words.ts";
import type { NamedSnapshots } from "./held-snapshots.ts";
import { assertRoom } from "./room.ts";

const firstPauseMs = 200;
const firstAttempts = 25;

/** What is in force, as every master reads it. */
export interface FilesInForce {
  /**
   * Digest of the snapshot of `base` in force, and the statement that the publisher signed: the same object until the
   * next publication, `undefined` before the first one.
   */
  inForce(): Promise<{ base: string; statement: Uint8Array } | undefined>;
  /** The state files that a peel uses by default, as this master knows them. */
  published(): Content | undefined;
  /**
   * The files that an environment has now, or that a commit of it has, or exactly these.
   *
   * @throws SvcError `not_found` naming the environment, the commit or the files, `unavailable` before the first
   *   publication, `conflict` when too many earlier files are still needed
   */
  resolve(wanted: { environment: string; commit?: string; snapshot?: string }): Promise<Content>;
  /** @throws SvcError `not_found` when peels cannot fetch these files any more, `unavailable` */
  assertPublished(content: Pick<Content, "environment" | "snapshot">): Promise<void>;
  /**
   * Whether a commit, given by its first hexadecimal digits, has the files that its environment has now; a candidate has
   * other ones. Of an environment that does not exist, every commit does: none of them can be run.
   *
   * @throws SvcError `unavailable` before the first publication
   */
  isNewest(environment: string, commit: string): Promise<boolean>;
  /**
   * What each environment has now, with what waits for a release; or one of them at a commit.
   *
   * @throws SvcError `not_found` for an unknown commit, `unavailable` before the first publication
   */
  list(wanted: { environment?: string; commit?: string }): Promise<readonly PublishedFiles[]>;
}

/** The files of an environment, and where they come from. */
interface PublishedFiles {
  environment: string;
  /** What is in force, or what the commit has; absent where nothing is in force yet. */
  content?: Content;
  /** When these came into force, milliseconds since the Unix epoch, where it is known. */
  since?: number;
  /** The newest files that wait for a release, since a time in milliseconds since the Unix epoch. */
  candidate?: { content: Content; since: number };
  /** Of the newest files: the directory of the masters, then repositories, in the order in which they overlay each other. */
  sources: readonly { remote: string; ref?: string }[];
  /** The commit of earlier files that are still published, where one describes them. */
  commitOf(snapshot: string): string | undefined;
}

function describe(catalog: Catalog, environment: string, commit: string | undefined): PublishedFiles {
  const [candidate] = catalog.candidates.get(environment) ?? [];
  const isReleased = catalog.environments.has(environment);
  const found =
    commit === undefined && !isReleased ? undefined : findSnapshot(catalog, environment, { commit });
  const newest = commit === undefined ? (candidate ?? found) : found;
  return {
    environment,
    sources: newest === undefined ? [] : sourcesOf(newest),
    ...defined({
      content: found && contentOf(environment, found),
      since: found?.since,
      candidate: candidate && { content: contentOf(environment, candidate), since: candidate.since },
    }),
    commitOf(snapshot) {
      const one = attempt(() => contentOf(environment, findSnapshot(catalog, environment, { snapshot })));
      return one?.commit === localCommit ? undefined : one?.commit;
    },
  };
}

const sourcesOf = ({ origin: { directory, commits } }: Published) => [
  ...(directory ? [{ remote: "states_dir" }] : []),
  ...commits.map(({ remote, ref }) => ({ remote, ref })),
];

/**
 * @param options.clock waits for the first publication: a master takes requests before it has read and checked all files
 * @param options.named which earlier files are still needed
 */
export function readInForce(
  catalog: Pick<CatalogView, "current" | "reread" | "latest">,
  { clock, named }: { clock: Clock; named: NamedSnapshots },
): FilesInForce {
  let reported: { of: object; states: { base: string; statement: Uint8Array } | undefined } | undefined;
  const now = async () => required(await catalog.current()).catalog;
  return {
    async inForce() {
      const current = await catalog.current();
      if (current === undefined) return undefined;
      if (reported?.of !== current) {
        const base = current.catalog.environments.get("base")?.[0]?.manifest;
        reported = {
          of: current,
          states: base === undefined ? undefined : { base, statement: current.statement },
        };
      }
      return reported.states;
    },
    async list({ environment, commit }) {
      const published = await now();
      const names = new Set([...published.environments.keys(), ...published.candidates.keys()]);
      const wanted = [...names].filter((name) => environment === undefined || name === environment);
      return wanted.map((name) => describe(published, name, commit));
    },
    async resolve({ environment, commit, snapshot }) {
      const published = await firstPublished(catalog, clock);
      const found = contentOf(environment, findSnapshot(published, environment, { commit, snapshot }));
      await assertRoom(published, found, named);
      return found;
    },
    async isNewest(environment, commit) {
      const published = await now();
      const [newest] = published.environments.get(environment) ?? [];
      // Who may run the newest files alone may not run what waits for its first release.
      if (newest === undefined) return !published.candidates.has(environment);
      const found = attempt(() => findSnapshot(published, environment, { commit }));
      return found !== undefined && found.snapshot === newest.snapshot;
    },
    async assertPublished({ environment, snapshot }) {
      const known = await catalog.current();
      if (known !== undefined && isPublished(known.catalog, environment, snapshot)) return;
      // Another master may have published it a moment ago.
      const current = required(await catalog.reread());
      findSnapshot(current.catalog, environment, { snapshot });
    },
    published() {
      const newest = catalog.latest?.environments.get("base")?.[0];
      return newest && contentOf("base", newest);
    },
  };
}

const isPublished = (catalog: Catalog, environment: string, snapshot: string): boolean =>
  attempt(() => findSnapshot(catalog, environment, { snapshot })) !== undefined;

/** @throws SvcError `unavailable` when nothing is published for a while */
async function firstPublished(catalog: Pick<CatalogView, "current">, clock: Clock): Promise<Catalog> {
  for (let left = firstAttempts; ; left--) {
    const current = await catalog.current();
    const { environments, candidates } = current?.catalog ?? emptyCatalog();
    if (current !== undefined && environments.size + candidates.size > 0) return current.catalog;
    if (left === 0) return required<Catalog>(undefined);
    await sleep(clock, firstPauseMs);
  }
}

/** @throws SvcError `unavailable` before the first publication */
function required<T>(current: T | undefined): T {
  if (current !== undefined) return current;
  throw new SvcError("unavailable", "no state files are published yet");
}
