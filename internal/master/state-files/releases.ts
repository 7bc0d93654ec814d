import { type Catalog, type Contents, snapshotOf } from "../../tree/files/mod.ts";
import { type Environment, storedSnapshot } from "../../tree/publication/mod.ts";
import { type Refusal, releaseStage, type Stage } from "./decide.ts";

/** What operators released, for a master that lets nothing else come into force. */
export interface Releases {
  /** Resolves when everything that is stored now was seen. @throws SvcError `unavailable`, `storage` */
  caughtUp(): Promise<void>;
  /** The newest release that counts. */
  newest(environment: string): { snapshot: string; version: number } | undefined;
  /** Calls `run` when that may have changed. @returns a function that unsubscribes */
  onChange(run: () => void): () => void;
}

/**
 * Lets only files come into force that are those of the newest release. Without a release what is in force stays.
 *
 * @param inForceNow returns the snapshot of an environment that is in force
 */
export function createReleaseStage(
  releases: Pick<Releases, "newest">,
  inForceNow: (environment: string) => { snapshot: string } | undefined,
): Stage {
  /** The same files are the same map. */
  const digests = new WeakMap<Contents, string>();
  return {
    name: releaseStage,
    judge({ name, files }) {
      const digest = digests.get(files) ?? snapshotOf(files);
      digests.set(files, digest);
      const released = releases.newest(name);
      if (released !== undefined) {
        if (released.snapshot === digest) return undefined;
        return `not the files of release ${released.version}: svc states release`;
      }
      const inForce = inForceNow(name);
      // The same files of another commit; or the version before published them and named no digest.
      if (inForce?.snapshot === digest || inForce?.snapshot === "") return undefined;
      return "nobody released the environment: svc states release";
    },
  };
}

/**
 * The snapshots that come into force although the sources have other files: those of the newest releases.
 *
 * @param wanted environments that exist
 * @param publish what comes into force from the sources
 * @returns by environment; `missing` are those that are stored nowhere any more
 */
export function restoredByRelease(
  releases: Pick<Releases, "newest">,
  catalog: Catalog,
  { wanted, publish }: { wanted: Iterable<string>; publish: readonly Pick<Environment, "name">[] },
): { restore: ReadonlyMap<string, string>; missing: readonly Refusal[] } {
  const restore = new Map<string, string>();
  const missing: Refusal[] = [];
  const fromSources = new Set(publish.map(({ name }) => name));
  for (const environment of new Set(wanted)) {
    const released = releases.newest(environment);
    if (released === undefined || fromSources.has(environment)) continue;
    const { snapshot, version } = released;
    if (catalog.environments.get(environment)?.[0]?.snapshot === snapshot) continue;
    if (storedSnapshot(catalog, environment, snapshot) !== undefined) restore.set(environment, snapshot);
    else missing.push({ environment, stage: "states", reason: missingFiles(version, snapshot) });
  }
  return { restore, missing };
}

const missingFiles = (version: number, snapshot: string): string =>
  `masters do not have the files ${snapshot.slice(0, 12)} of release ${version}: push them again, or release others`;
