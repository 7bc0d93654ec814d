import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Tenure } from "../../bus/lease/mod.ts";
import type { BlobStore } from "../../bus/storage/mod.ts";
import type { Catalog } from "../../tree/files/mod.ts";
import type { GitSync, Released } from "../../tree/git/mod.ts";
import {
  type CatalogView,
  type Composition,
  createComposer,
  type HeadSeal,
  type Layer,
  type Publisher,
  takeOverHead,
} from "../../tree/publication/mod.ts";
import { bringIntoForce } from "./bring-into-force.ts";
import { type Decision, decide, type Refusal, releaseStage, runStages, type Stage } from "./decide.ts";
import { createHeldSnapshots, type NamedSnapshots } from "./held-snapshots.ts";
import { readDirectory } from "./read-directory.ts";
import { createReleasedRefs, type RefReleases } from "./released-refs.ts";
import { createReleaseStage, type Releases, restoredByRelease } from "./releases.ts";

const collectMs = 10 * 60_000;
/** Until an environment is tried again that could not be stored. */
const retryRefusedMs = 60_000;
const shownWarnings = 20;

export interface PublicationOptions {
  store: BlobStore;
  seal: HeadSeal;
  /** `states_dir` */
  statesDir: string;
  tenure: Tenure;
  /** Starts reading the Git repositories; absent when there are none. */
  startGit?(hooks: GitHooks): GitSync;
  /** What candidates pass before they come into force. */
  stages?: readonly Stage[];
  /** What lets refs move whose commits need signatures; absent when there are none. */
  refReleases?: RefReleases | undefined;
  /** What operators released, when nothing else comes into force: `states.require_release`. */
  releases?: Releases | undefined;
  /** What requests need that have not ended. */
  named: NamedSnapshots;
  /** `gitfs.max_environments` */
  maxEnvironments: number;
  /** Called with what does not come into force, whenever that changes. */
  onRefusals?(refusals: readonly Refusal[]): void;
  recall?: CatalogView["recall"] | undefined;
  /** Called with the environments that have a new snapshot in force. */
  onPublished(environments: readonly string[]): void;
  clock: Clock;
  log: Log;
}

/** What reading repositories needs from publishing. */
export interface GitHooks {
  onChange(): void;
  /** The commit of a ref of a remote that is in force for an environment. */
  inForce(remote: string, environment: string, ref: string): string | undefined;
  /** The newest release of an environment, as far as refs of a remote need it. */
  released(remote: string, environment: string): Released | undefined;
}

/** One publication after the other, from what the sources give to what is in force. */
export interface Publication {
  /** @returns after how many milliseconds it must run again. @throws SvcError `conflict`, `storage` */
  publish(): Promise<number>;
  /** Makes the next run sign the head again. */
  sign(): void;
  /** After a failure the current head is unknown: the next run reads it. */
  forgetHead(): void;
  stop(): Promise<void>;
}

/** @param notice called when a source changed */
export function createPublication(options: PublicationOptions, notice: () => void): Publication {
  const { tenure, clock, releases } = options;
  const directory = readDirectory(options.statesDir, clock, options.log);
  const compose = createComposer();
  const report = reporter(options);
  const heldSnapshots = createHeldSnapshots(options.named, clock);
  const inForceNow = (name: string) => publisher?.catalog.environments.get(name)?.[0];
  const releaseStages = releases === undefined ? [] : [createReleaseStage(releases, inForceNow)];
  const stages = [...(options.stages ?? []), ...releaseStages];
  let git: GitSync | undefined;
  let publisher: Publisher | undefined;
  let isHeadKnown = false;
  let collectAt = clock.monotonic() + collectMs;
  const takeOver = async (): Promise<Publisher> => {
    if (publisher !== undefined && isHeadKnown && (await publisher.holds())) return publisher;
    publisher = await takeOverHead(options, tenure.token);
    isHeadKnown = true;
    return publisher;
  };
  const inForce: GitHooks["inForce"] = (remote, environment, ref) => {
    const { commits = [] } = publisher?.originOf(environment) ?? {};
    return commits.find((origin) => origin.remote === remote && origin.ref === ref)?.commit;
  };
  let own: Layer | undefined;
  const layers = (): Layer[] => [...(own === undefined ? [] : [own]), ...(git?.states() ?? [])];
  const released =
    options.refReleases === undefined ? () => undefined : createReleasedRefs(options.refReleases, layers);
  const forgetReleases = options.refReleases?.onChange(() => void git?.syncNow());
  const forgetHead = () => {
    isHeadKnown = false;
  };
  return {
    // It takes over from itself, which signs the head again.
    sign: forgetHead,
    forgetHead,
    async publish() {
      const holder = await takeOver();
      own = await directory();
      // Only now: which commits count depends on those in force.
      git ??= options.startGit?.({ onChange: notice, inForce, released });
      const composed = compose(layers(), newestOf(holder));
      await releases?.caughtUp();
      const refused = await runStages(stages, composed.environments);
      const published = holder.environments();
      const decision = decide(composed, { published, refusals: refused, max: options.maxEnvironments });
      const { missing, ...follows } = followReleases(releases, holder.catalog, composed, decision);
      const held = await heldSnapshots.next(holder.catalog);
      tenure.signal.throwIfAborted();
      const { changed, refusals } = await bringIntoForce(holder, { ...decision, ...follows }, held);
      report([...decision.refusals, ...missing, ...refusals]);
      if (changed.length > 0) options.onPublished(changed);
      if (clock.monotonic() >= collectAt) {
        collectAt = clock.monotonic() + collectMs;
        await holder.collect();
      }
      return refusals.length > 0 ? retryRefusedMs : collectMs;
    },
    async stop() {
      forgetReleases?.();
      await git?.stop();
    },
  };
}

/** The origins of the newest snapshots: those of candidates, where there are some. */
function newestOf(publisher: Publisher): Pick<Publisher, "environments" | "originOf"> {
  const { candidates } = publisher.catalog;
  return {
    environments: () => [...new Set([...publisher.environments(), ...candidates.keys()])],
    originOf: (name) => candidates.get(name)?.[0]?.origin ?? publisher.originOf(name),
  };
}

/** What comes into force by a release and not from the sources, and whose candidates stay as they are. */
function followReleases(
  releases: Releases | undefined,
  catalog: Catalog,
  { unchanged }: Composition,
  { publish, unchanged: stay, offer, refusals }: Decision,
) {
  if (releases === undefined) return { restore: new Map<string, string>(), missing: [], waiting: [] };
  const refused = refusals.flatMap(({ environment, stage }) => (stage === releaseStage ? [] : [environment]));
  const wanted = [...unchanged, ...stay, ...offer.map(({ name }) => name)];
  return {
    ...restoredByRelease(releases, catalog, { wanted, publish }),
    waiting: [...unchanged, ...refused],
  };
}

/** Reports what does not come into force whenever that changes. */
function reporter({ log, onRefusals }: PublicationOptions): (refusals: readonly Refusal[]) => void {
  // Also nothing is reported at first: this master may have published before, and refused something then.
  let reported: readonly Refusal[] | undefined;
  return (refusals) => {
    if (Bun.deepEquals(refusals, reported)) return;
    reported = refusals;
    for (const refusal of refusals.slice(0, shownWarnings)) {
      if (refusal.stage === releaseStage) log.info("state files wait for a release", { ...refusal });
      else log.warn("environment not published; its last content stays in force", { ...refusal });
    }
    onRefusals?.(refusals);
  };
}
