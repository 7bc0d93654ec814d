import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import { isErrno, makeDirectory, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Log } from "../../base/log.ts";
import { type RecordOf, record } from "../../base/record.ts";
import { optional } from "../../base/record-kinds.ts";

/** Number of snapshots to keep per environment, for pinned runs and runs in progress. */
const keptOfEach = 4;

/** A snapshot whose files are all in the cache. */
export interface CachedSnapshot {
  manifest: string;
  commits: readonly string[];
  /** Digest of its files, which this peel computed; absent in the list of a peel of the version before. */
  snapshot?: string;
}

/** The stored part of a statement, so that no older one is accepted. */
export interface SeenStatement {
  /** The command key that signed it. */
  key: string;
  version: number;
}

/** The list of cached snapshots: one file, replaced atomically. */
export interface SnapshotList {
  /** The snapshot of an environment in force. */
  current(environment: string): CachedSnapshot | undefined;
  /** The newest snapshot with this commit prefix. */
  withCommit(environment: string, commit: string): CachedSnapshot | undefined;
  /** The snapshot with exactly these files. */
  withSnapshot(environment: string, snapshot: string): CachedSnapshot | undefined;
  /** All snapshots of all environments. */
  all(): readonly CachedSnapshot[];
  /** Adds a snapshot, and puts it in force unless it is only for a pinned run. @throws SvcError `storage` */
  add(environment: string, snapshot: CachedSnapshot, inForce: boolean): void;
  /** The newest statement that this peel accepted. */
  readonly newest: SeenStatement | undefined;
  /** Records the statement. It takes effect even when it cannot be stored. @throws SvcError `storage` */
  record(statement: SeenStatement): void;
}

const digest = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const fields = {
  newest: optional(v.object({ key: v.string(), version: v.number() })),
  environments: v.record(
    v.string(),
    v.object({
      current: v.exactOptional(digest),
      snapshots: v.array(
        v.object({ manifest: digest, commits: v.array(v.string()), snapshot: v.exactOptional(digest) }),
      ),
    }),
  ),
} as const;
type Stored = RecordOf<typeof fields>;
// Version 1 was not signed.
const stored = record("list of snapshots", fields, { version: 2, isOpen: true });

/** Reads the list. An unreadable list counts as empty, and everything is fetched again. */
export function openSnapshotList(dir: string, log: Log): SnapshotList {
  const path = join(dir, "current");
  let { environments, newest } = read(path, log);
  const write = (next: Stored["environments"]) =>
    writing(path, () => {
      makeDirectory(dir, 0o700);
      writeFileAtomic(path, stored.encode({ ...defined({ newest }), environments: next }), secretMode);
    });
  const find = (environment: string, matches: (snapshot: CachedSnapshot) => boolean) =>
    environments[environment]?.snapshots.find(matches);
  return {
    current(environment) {
      const digest = environments[environment]?.current;
      return find(environment, ({ manifest }) => manifest === digest);
    },
    withCommit: (environment, commit) =>
      find(environment, ({ commits }) => commits.some((known) => known.startsWith(commit))),
    withSnapshot: (environment, wanted) => find(environment, ({ snapshot }) => snapshot === wanted),
    all: () => Object.values(environments).flatMap(({ snapshots }) => snapshots),
    add(environment, { manifest, commits, snapshot }, inForce) {
      const before = environments[environment];
      const current = inForce ? manifest : before?.current;
      const others = (before?.snapshots ?? []).filter((one) => one.manifest !== manifest);
      const isCurrent = (one: CachedSnapshot) => one.manifest === current;
      const snapshots = [
        { manifest, commits: [...commits], ...defined({ snapshot }) },
        ...others.filter(isCurrent),
        ...others.filter((one) => !isCurrent(one)).slice(0, keptOfEach),
      ];
      const entry = { ...defined({ current }), snapshots };
      const next = { ...environments, [environment]: entry };
      write(next);
      environments = next;
    },
    get newest() {
      return newest;
    },
    record({ key, version }) {
      if (newest?.key === key && newest.version === version) return;
      newest = { key, version };
      write(environments);
    },
  };
}

function read(path: string, log: Log): Stored {
  try {
    return stored.decode(readFileSync(path));
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT")) return { environments: {} };
    log.warn("the cache of state files has no list that can be read; it is fetched again", {
      file: path,
      reason: describeError(thrown),
    });
    return { environments: {} };
  }
}
