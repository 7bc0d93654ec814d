import { toSvcError } from "../../base/errors.ts";
import { type Catalog, decodeCatalog, findSnapshot, type SignedStatement } from "../../tree/files/mod.ts";
import type { CachedSnapshot } from "./state-snapshots.ts";
import type { Statements } from "./statements.ts";
import type { Cache } from "./sync.ts";

export const base = "base";

/** Which snapshot an environment has. */
export interface Versions {
  /**
   * The version in force at the masters, or the cached one when they are unreachable.
   *
   * @param commit the snapshot of this commit instead
   */
  find(environment: string, commit: string | undefined): Promise<CachedSnapshot>;
}

export function createVersions(cache: Cache, statements: Statements): Versions {
  let last: { digest: string; catalog: Catalog } | undefined;
  const catalogOf = async ({ catalog: digest }: SignedStatement): Promise<Catalog> => {
    if (last?.digest === digest) return last.catalog;
    await cache.masters().fetch([{ digest, size: 0 }], async (_, data) => {
      last = { digest, catalog: decodeCatalog(data) };
    });
    return last?.catalog ?? new Map();
  };
  const requestMasters = async (environment: string, commit: string | undefined): Promise<CachedSnapshot> => {
    const statement = statements.accept(await cache.masters().find(environment, commit));
    if (environment === base && commit === undefined && statement.base !== undefined) {
      return { manifest: statement.base, commits: [] };
    }
    return findSnapshot(await catalogOf(statement), environment, commit);
  };
  return {
    async find(environment, commit) {
      const { list, log } = cache;
      const cached = commit === undefined ? list.current(environment) : list.withCommit(environment, commit);
      try {
        return await requestMasters(environment, commit);
      } catch (thrown) {
        const { kind, message } = toSvcError(thrown);
        // A removed environment is not served from the cache. A commit is: it never changes.
        if (cached === undefined || (kind === "not_found" && commit === undefined)) throw thrown;
        const { manifest } = cached;
        log.info("cached state files are used", { environment, manifest, reason: message });
        return cached;
      }
    },
  };
}
