import type { FollowedTree } from "./follow.ts";

/** The fleet that settings are compiled for. */
export interface Peels {
  /** Encoded peel ids of the members; the same array until a change. */
  members(): readonly string[];
  isMember(peelId: string): boolean;
  /**
   * Calls `run` with each peel that becomes or stops being a member. @returns a function that unsubscribes
   */
  onMember(run: (peelId: string) => void): () => void;
  /** Calls `run` with each peel whose facts were stored. @returns a function that unsubscribes */
  onFacts(run: (peelId: string) => void): () => void;
  /** What the fleet says of a peel; `onMember` reports its changes. */
  labelsOf(peelId: string): Readonly<Record<string, string>> | undefined;
  /** The stored facts of a peel, encoded; `undefined` if there are none. @throws SvcError `storage` */
  facts(peelId: string): Promise<Uint8Array | undefined>;
}

/** Tracks the peels whose settings may be outdated. */
export interface Tracker {
  /** Returns a peel to process; it is in progress until `done`, and is not returned again before. */
  take(): string | undefined;
  /** Marks a peel as processed. @param uses paths that its settings depend on; absent when unknown */
  done(peelId: string, uses?: ReadonlySet<string>): void;
  mark(peelId: string): void;
  markAll(): void;
  /** Whether nothing is pending or in progress. */
  readonly idle: boolean;
  /** Resolves when a peel may be pending, or on `wake`. */
  changed(): Promise<void>;
  wake(): void;
  stop(): void;
}

/** Follows all inputs of settings. */
export function trackSettings(tree: FollowedTree, peels: Peels): Tracker {
  const stale = new Set<string>();
  const inWork = new Set<string>();
  const usesOf = new Map<string, ReadonlySet<string>>();
  /** Most peels use the same files, so equal sets of paths are shared. */
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
      // A compilation in progress may have read the previous files.
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
