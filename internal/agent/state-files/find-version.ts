import { toSvcError } from "../../base/errors.ts";
import {
  type Catalog,
  decodeCatalog,
  emptyCatalog,
  findSnapshot,
  type SignedStatement,
  type WantedSnapshot,
} from "../../tree/files/mod.ts";
import type { CachedSnapshot } from "./state-snapshots.ts";
import type { Statements } from "./statements.ts";
import type { Cache } from "./sync.ts";

export const base = "base";

/** Which snapshot an environment has. */
export interface Versions {
  /**
   * The version in force at the masters, or the cached one when they are unreachable.
   *
   * @param wanted another snapshot instead
   */
  find(environment: string, wanted: WantedSnapshot): Promise<FoundSnapshot>;
}

/** A snapshot, and whether the masters said just now that it is the one in force. */
export type FoundSnapshot = CachedSnapshot & { isInForce?: true };

export function createVersions(cache: Cache, statements: Statements): Versions {
  let last: { digest: string; catalog: Catalog } | undefined;
  const catalogOf = async ({ catalog: digest }: SignedStatement): Promise<Catalog> => {
    if (last?.digest === digest) return last.catalog;
    await cache.masters().fetch([{ digest, size: 0 }], async (_, data) => {
      last = { digest, catalog: decodeCatalog(data) };
    });
    return last?.catalog ?? emptyCatalog();
  };
  const requestMasters = async (environment: string, wanted: WantedSnapshot): Promise<FoundSnapshot> => {
    const statement = statements.accept(await cache.masters().find(environment, wanted));
    if (environment === base && !isNamed(wanted) && statement.base !== undefined) {
      return { manifest: statement.base, commits: [], isInForce: true };
    }
    const catalog = await catalogOf(statement);
    const { manifest, origin } = findSnapshot(catalog, environment, wanted);
    const isInForce = catalog.environments.get(environment)?.[0]?.manifest === manifest;
    const commits = origin.commits.map(({ commit }) => commit);
    return { manifest, commits, ...(isInForce ? { isInForce } : {}) };
  };
  return {
    async find(environment, wanted) {
      const { list, log } = cache;
      const cached = fromCache(list, environment, wanted);
      // Equal digests are equal files: there is nothing to ask masters.
      if (wanted.snapshot !== undefined && cached !== undefined) return cached;
      try {
        return await requestMasters(environment, wanted);
      } catch (thrown) {
        const { kind, message } = toSvcError(thrown);
        // A removed environment is not served from the cache. A commit is: it never changes.
        if (cached === undefined || (kind === "not_found" && wanted.commit === undefined)) throw thrown;
        const { manifest } = cached;
        log.info("cached state files are used", { environment, manifest, reason: message });
        return cached;
      }
    },
  };
}

/** Whether one snapshot is meant, and not the one in force. */
export const isNamed = ({ commit, snapshot }: WantedSnapshot): boolean =>
  commit !== undefined || snapshot !== undefined;

function fromCache(
  list: Cache["list"],
  environment: string,
  { commit, snapshot }: WantedSnapshot,
): CachedSnapshot | undefined {
  if (snapshot !== undefined) return list.withSnapshot(environment, snapshot);
  return commit === undefined ? list.current(environment) : list.withCommit(environment, commit);
}
