import type { FollowedTree } from "./follow.ts";

/** The fleet, as settings are compiled for it. */
export interface Peels {
  /** Encoded peel ids of the members; the same list until something changes. */
  members(): readonly string[];
  isMember(peelId: string): boolean;
  /** Calls `run` with each peel that becomes a member, or is none any more. @returns the way to stop */
  onMember(run: (peelId: string) => void): () => void;
  /** Calls `run` with each peel whose facts were stored. @returns the way to stop */
  onFacts(run: (peelId: string) => void): () => void;
  /** The facts of a peel as they are stored, encoded; `undefined` while there are none. @throws SvcError `storage` */
  facts(peelId: string): Promise<Uint8Array | undefined>;
}

/** Which peels' settings may not be what their files and facts say. */
export interface Tracker {
  /** A peel to look at; it is in work until `done`, and nobody else gets it meanwhile. */
  take(): string | undefined;
  /** Ends the work on a peel. @param uses what its settings were made of; absent when that is not known */
  done(peelId: string, uses?: ReadonlySet<string>): void;
  mark(peelId: string): void;
  markAll(): void;
  /** Whether there is nothing to do and nothing in work. */
  readonly idle: boolean;
  /** Resolves when there may be something to take, or at `wake`. */
  changed(): Promise<void>;
  wake(): void;
  stop(): void;
}

/** Follows everything that settings are made of. */
export function trackSettings(tree: FollowedTree, peels: Peels): Tracker {
  const stale = new Set<string>();
  const inWork = new Set<string>();
  const usesOf = new Map<string, ReadonlySet<string>>();
  /** Peels mostly use the same files: each set of paths is kept once. */
  const pool = new Map<string, ReadonlySet<string>>();
  let change = Promise.withResolvers<void>();

  const announce = () => {
    change.resolve();
    change = Promise.withResolvers();
  };
  const mark = (peelId: string) => {
    stale.add(peelId);
    announce();
  };
  const shared = (uses: ReadonlySet<string>): ReadonlySet<string> => {
    const key = [...uses].join("\0");
    const known = pool.get(key);
    if (known !== undefined) return known;
    if (pool.size > 4_096) pool.clear();
    pool.set(key, uses);
    return uses;
  };
  const stops = [
    peels.onMember(mark),
    peels.onFacts(mark),
    tree.onChange((changed) => {
      const answers = new Map<ReadonlySet<string>, boolean>();
      for (const [peelId, uses] of usesOf) {
        const known = answers.get(uses);
        const isStale = known ?? !uses.isDisjointFrom(changed);
        if (known === undefined) answers.set(uses, isStale);
        if (isStale) stale.add(peelId);
      }
      // What is compiled at this moment may have seen the files of before.
      for (const peelId of inWork) stale.add(peelId);
      announce();
    }),
  ];
  return {
    take() {
      for (const peelId of stale) {
        if (inWork.has(peelId)) continue;
        stale.delete(peelId);
        inWork.add(peelId);
        return peelId;
      }
      return undefined;
    },
    done(peelId, uses) {
      inWork.delete(peelId);
      if (uses === undefined) usesOf.delete(peelId);
      else usesOf.set(peelId, shared(uses));
      if (stale.has(peelId)) announce();
    },
    mark,
    markAll() {
      for (const peelId of peels.members()) stale.add(peelId);
      announce();
    },
    get idle() {
      return stale.size === 0 && inWork.size === 0;
    },
    changed: () => change.promise,
    wake: announce,
    stop() {
      for (const stop of stops) stop();
    },
  };
}
