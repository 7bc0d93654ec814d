import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { environmentKey } from "../../base/names/names.ts";
import { subscribe } from "../../base/subscribe.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { openRelease, type SignedRelease } from "../../wire/release.ts";
import type { ReleaseJudge } from "./judge.ts";

/** Releases of an environment that are remembered: the newest one, the one before, and what may take their place. */
const maxRemembered = 16;
/** The greatest release that peels took, where the bus has less. */
const seenSuffix = ".seen";

export const seenKey = (environment: string): string => `${environmentKey(environment)}${seenSuffix}`;

/** A release and its stored form. */
export interface StoredRelease {
  release: SignedRelease;
  bytes: Uint8Array;
}

/** The releases of a fleet that count, in the memory of a master. */
export interface Releases {
  readonly ready: Promise<void>;
  /** Resolves when everything that is stored now was seen. @throws SvcError `unavailable`, `storage` */
  caughtUp(): Promise<void>;
  /** Environments with a release that counts, sorted. */
  environments(): readonly string[];
  /** The newest release of an environment. */
  newest(environment: string): StoredRelease | undefined;
  /** The one before, which a rollback signs again. */
  before(environment: string): StoredRelease | undefined;
  /** The newest release with these files. */
  withSnapshot(environment: string, snapshot: string): StoredRelease | undefined;
  /** The version that the next release must have: greater than what masters and peels have seen. */
  nextVersion(environment: string): number;
  /** Snapshots that stay published: those of the newest release and of the one before, of every environment. */
  snapshots(): ReadonlySet<string>;
  /** Takes note of what this master stored itself. */
  note(bytes: Uint8Array): void;
  /** Calls `run` after each change. @returns a function that unsubscribes */
  onChange(run: () => void): () => void;
  stop(): void;
}

/** Follows the bucket `releases`. What does not count is ignored: the log of decisions puts the last good one back. */
export function followReleases({ bucket, judge, log }: FollowDeps): Releases {
  const listeners = new Set<() => void>();
  const report = () => {
    for (const run of [...listeners]) run();
  };
  const memory = createMemory(judge);
  const histories = new Map<string, Promise<void>>();
  /** The release before is an earlier revision of the same key. */
  const readHistory = async (key: string) => {
    try {
      for (const { value } of await bucket.history(key)) memory.retain(value);
    } catch (thrown) {
      log.warn("earlier releases not read", { key, reason: describeError(thrown) });
    }
  };
  const watch = bucket.watch(({ key, value }) => {
    // What is removed from the bus stays in memory: the log of decisions puts it back.
    if (value === undefined) return;
    const reason = memory.read(key, value);
    if (reason !== undefined) log.error("a stored release is ignored", { key, reason });
    if (!key.endsWith(seenSuffix) && !histories.has(key)) histories.set(key, readHistory(key));
    report();
  });
  const settled = async () => void (await Promise.all(histories.values()));
  const { counting } = memory;
  const environments = () => memory.environments().filter((name) => counting(name).length > 0);
  return {
    ready: watch.ready.then(settled),
    async caughtUp() {
      await watch.caughtUp();
      await settled();
    },
    environments,
    newest: (environment) => counting(environment)[0],
    before: (environment) => counting(environment)[1],
    withSnapshot: (environment, snapshot) =>
      counting(environment).find(({ release }) => release.snapshot === snapshot),
    nextVersion: memory.nextVersion,
    snapshots() {
      const published = environments().flatMap((name) => counting(name).slice(0, 2));
      return new Set(published.map(({ release }) => release.snapshot));
    },
    note(bytes) {
      memory.retain(bytes);
      report();
    },
    onChange: (run) => subscribe(listeners, run),
    stop: () => watch.stop(),
  };
}

interface FollowDeps {
  bucket: Pick<Bucket, "watch" | "history">;
  judge: ReleaseJudge;
  log: Log;
}

/** The releases that were read, and which of them count. */
function createMemory(judge: ReleaseJudge) {
  const known = new Map<string, readonly StoredRelease[]>();
  /** The greatest versions that were released or that peels have. */
  const greatest = new Map<string, number>();
  const raise = ({ environment, version }: SignedRelease) =>
    greatest.set(environment, Math.max(version, greatest.get(environment) ?? 0));
  const retain = (bytes: Uint8Array) => {
    const release = judge.read(bytes);
    if (release === undefined) return;
    const { environment, version } = release;
    const others = (known.get(environment) ?? []).filter((one) => one.release.version !== version);
    const all = [...others, { release, bytes: new Uint8Array(bytes) }];
    all.sort((one, other) => other.release.version - one.release.version);
    known.set(environment, all.slice(0, maxRemembered));
    raise(release);
  };
  return {
    retain,
    /** @returns why a stored value does not count */
    read(key: string, value: Uint8Array): string | undefined {
      try {
        const release = openRelease(value);
        if (!isPlaceOf(key, release)) return "it has the key of another environment";
        const reason = judge.refusalOf(value, release);
        if (reason !== undefined) return reason;
        if (key.endsWith(seenSuffix)) raise(release);
        else retain(value);
        return undefined;
      } catch (thrown) {
        return describeError(thrown);
      }
    },
    environments: () => [...known.keys()].sort(),
    /** Those that count now, the newest first. */
    counting: (environment: string) =>
      (known.get(environment) ?? []).filter(
        ({ release, bytes }) => judge.refusalOf(bytes, release) === undefined,
      ),
    nextVersion: (environment: string) => (greatest.get(environment) ?? 0) + 1,
  };
}

/** Whether a release may have this key of the bucket. */
function isPlaceOf(key: string, { environment }: SignedRelease): boolean {
  return key === environmentKey(environment) || key === seenKey(environment);
}
