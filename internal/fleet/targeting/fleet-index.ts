import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { decode } from "../../base/msgpack.ts";
import type { Bucket, Change } from "../../bus/bucket.ts";
import { createFactPacker, type FactMap } from "../../tree/targets/fact-map.ts";
import { aliveMs, type Fleet, type Wanted } from "./fleet.ts";

/** What a master knows of all peels without asking, kept current by one watch per bucket. */
export interface FleetIndex extends Fleet {
  /** Resolves when everything that was stored at the start is known. */
  readonly ready: Promise<void>;
  /** Whether it has been ready; before that it knows too little. */
  readonly running: boolean;
  /** Resolves when what is stored now is known. */
  caughtUp(wanted: Wanted): Promise<void>;
  /** Calls `run` with the peel of all facts that are stored from now on. @returns the way to stop */
  onFacts(run: (peel: string) => void): () => void;
  /**
   * Calls `run` with each heartbeat that is stored from now on, and its revision. @returns the way to stop
   */
  onBeat(run: (peel: string, revision: number) => void): () => void;
  stop(): void;
}

interface Known {
  readonly id: string;
  facts: FactMap | undefined;
  factsRevision: number;
  /** Monotonic time of the last heartbeat. */
  beatAt: number;
  beatRevision: number;
  /** Whether its facts were too many, or none: told once. */
  reported: boolean;
}

/** Starts following facts and heartbeats. */
export function createFleetIndex(options: {
  /** Encoded peel ids of the fleet's members, in order; the same list until something changes. */
  members(): readonly string[];
  facts: Pick<Bucket, "watch">;
  heartbeats: Pick<Bucket, "watch">;
  clock: Clock;
  log: Log;
}): FleetIndex {
  const { clock, log } = options;
  const known = new Map<string, Known>();
  const packer = createFactPacker();
  const factListeners = new Set<(peel: string) => void>();
  const beatListeners = new Set<(peel: string, revision: number) => void>();
  let members: readonly string[] = [];
  let peels: readonly Known[] = [];
  const knownOf = (key: string): Known => {
    const found = known.get(key);
    if (found !== undefined) return found;
    // A key cut out of a subject would keep the subject.
    const id = Buffer.from(key).toString();
    const fresh: Known = {
      id,
      facts: undefined,
      factsRevision: 0,
      beatAt: Number.NEGATIVE_INFINITY,
      beatRevision: 0,
      reported: false,
    };
    known.set(id, fresh);
    return fresh;
  };
  const report = (peel: Known, key: string, event: string, reason?: string) => {
    if (!peel.reported) log.warn(event, { peel_id: key, ...defined({ reason }) });
    peel.reported = true;
  };
  const onFacts = ({ key, value, revision }: Change) => {
    const peel = knownOf(key);
    if (peel.factsRevision === revision) return;
    peel.factsRevision = revision;
    peel.facts = undefined;
    for (const run of factListeners) run(peel.id);
    if (value === undefined) return;
    try {
      const { facts, cut } = packer.pack(decode(value));
      peel.facts = facts;
      if (cut) report(peel, key, "a peel has more facts than targets can use; the rest is ignored");
    } catch (cause) {
      report(peel, key, "the facts of a peel cannot be read", describeError(cause));
    }
  };
  const onHeartbeat = ({ key, value, revision, storedAt }: Change) => {
    const peel = knownOf(key);
    if (peel.beatRevision === revision) return;
    peel.beatRevision = revision;
    // One that was there before this watch is older than its arrival. Beyond what the bucket keeps,
    // the clocks of the two machines differ, and the arrival is the better guess.
    const age = clock.now() - storedAt;
    const since = age >= 0 && age <= aliveMs ? age : 0;
    peel.beatAt = value === undefined ? Number.NEGATIVE_INFINITY : clock.monotonic() - since;
    if (value !== undefined) for (const run of beatListeners) run(peel.id, revision);
  };
  const facts = options.facts.watch(onFacts);
  const heartbeats = options.heartbeats.watch(onHeartbeat);
  let running = false;
  const ready = Promise.all([facts.ready, heartbeats.ready]).then(() => {
    running = true;
  });

  return {
    ready,
    get running() {
      return running;
    },
    async caughtUp(wanted) {
      await Promise.all([
        wanted.facts ? facts.caughtUp() : undefined,
        wanted.heartbeats ? heartbeats.caughtUp() : undefined,
      ]);
    },
    onFacts(run) {
      factListeners.add(run);
      return () => factListeners.delete(run);
    },
    onBeat(run) {
      beatListeners.add(run);
      return () => beatListeners.delete(run);
    },
    members: options.members,
    peels() {
      const current = options.members();
      if (current !== members) {
        members = current;
        peels = current.map(knownOf);
      }
      return peels;
    },
    hasSettings: false,
    alive(peel) {
      const beatAt = known.get(peel)?.beatAt;
      return beatAt !== undefined && clock.monotonic() - beatAt < aliveMs;
    },
    stop() {
      facts.stop();
      heartbeats.stop();
    },
  };
}
