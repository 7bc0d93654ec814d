import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { subscribe } from "../../base/subscribe.ts";
import type { Bucket, Change } from "../../bus/storage/mod.ts";
import { createFactPacker, type FactMap } from "../../tree/targets/mod.ts";
import { openFacts } from "../../wire/facts.ts";
import { readGoodbye } from "../../wire/heartbeat.ts";
import { aliveMs, type Fleet, type Wanted } from "./fleet.ts";
import { doubtLife, endLife, type Life, newLife, noteBeat, standingAt, wasAlive } from "./life.ts";

/** An in-memory index of all peels, kept up to date by one watch per bucket. */
export interface FleetIndex extends Fleet {
  /** Resolves when all values stored at the start are indexed. */
  readonly ready: Promise<void>;
  /** Whether it is ready; before that it is incomplete. */
  readonly running: boolean;
  /** Resolves when all values stored now are indexed. */
  caughtUp(wanted: Wanted): Promise<void>;
  /** Calls `run` with the peel of each facts update from now on. @returns a function that unsubscribes */
  onFacts(run: (peel: string) => void): () => void;
  /**
   * Calls `run` with each new heartbeat, its revision, what the peel stored, and when; a goodbye is not one.
   *
   * @returns a function that unsubscribes
   */
  onBeat(run: OnBeat): () => void;
  /** @param at the moment in question, milliseconds since the Unix epoch; now unless given */
  alive(peel: string, at?: number): boolean;
  /** Its facts; absent when it stored none that can be read. */
  factsOf(peel: string): FactMap | undefined;
  /**
   * Whether a peel is alive, and since when this master knows that, milliseconds since the Unix epoch by the clock of
   * the bus. A peel that was silent when this master started has no such moment.
   */
  lifeOf(peel: string): { alive: boolean; since?: number };
  /** When the bus stored its facts, milliseconds since the Unix epoch; absent when it stored none. */
  factsStoredAt(peel: string): number | undefined;
  /** A connection of a peel ended: unless another heartbeat arrives soon, it is silent. */
  doubt(peel: string): void;
  stop(): void;
}

type OnBeat = (peel: string, revision: number, value: Uint8Array, storedAt: number) => void;

interface Known {
  readonly id: string;
  facts: FactMap | undefined;
  factsRevision: number;
  factsStoredAt: number | undefined;
  readonly life: Life;
  beatRevision: number;
  /** Whether its facts were reported as too large or invalid. */
  reported: boolean;
}

export interface FleetIndexOptions {
  /** Sorted encoded peel ids of the members; the same array until a change. */
  members(): readonly string[];
  facts: Pick<Bucket, "watch">;
  heartbeats: Pick<Bucket, "watch">;
  clock: Clock;
  log: Log;
}

interface Indexed {
  readonly known: Map<string, Known>;
  readonly packer: ReturnType<typeof createFactPacker>;
  readonly factListeners: Set<(peel: string) => void>;
  readonly beatListeners: Set<OnBeat>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts watching facts and heartbeats. */
export function createFleetIndex(options: FleetIndexOptions): FleetIndex {
  const { clock, log } = options;
  const startedAt = clock.monotonic();
  const indexed: Indexed = {
    ...{ known: new Map(), packer: createFactPacker(), clock, log },
    ...{ factListeners: new Set(), beatListeners: new Set() },
  };
  const { known } = indexed;
  let members: readonly string[] = [];
  let peels: readonly Known[] = [];
  const facts = options.facts.watch((change) => onFacts(indexed, change));
  const heartbeats = options.heartbeats.watch((change) => onHeartbeat(indexed, change));
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
    onFacts: (run) => subscribe(indexed.factListeners, run),
    onBeat: (run) => subscribe(indexed.beatListeners, run),
    members: options.members,
    peels() {
      const current = options.members();
      if (current !== members) {
        members = current;
        peels = current.map((id) => knownOf(known, id));
      }
      return peels;
    },
    hasSettings: false,
    alive(peel, at) {
      const life = known.get(peel)?.life;
      if (life === undefined) return false;
      const ago = at === undefined ? 0 : clock.now() - at;
      return wasAlive(life, clock.monotonic() - ago, startedAt);
    },
    factsOf: (peel) => known.get(peel)?.facts,
    lifeOf(peel) {
      const life = known.get(peel)?.life;
      if (life === undefined) return { alive: false };
      return standingAt(life, clock.monotonic());
    },
    factsStoredAt: (peel) => known.get(peel)?.factsStoredAt,
    doubt(peel) {
      const life = known.get(peel)?.life;
      if (life !== undefined) doubtLife(life, clock.monotonic(), clock.now());
    },
    stop() {
      facts.stop();
      heartbeats.stop();
    },
  };
}

function knownOf(known: Map<string, Known>, key: string): Known {
  const found = known.get(key);
  if (found !== undefined) return found;
  // A substring of a subject would keep the whole subject in memory.
  const id = Buffer.from(key).toString();
  const fresh: Known = {
    ...{ id, facts: undefined, factsRevision: 0, factsStoredAt: undefined },
    ...{ life: newLife(), beatRevision: 0, reported: false },
  };
  known.set(id, fresh);
  return fresh;
}

function onFacts(indexed: Indexed, { key, value, revision, storedAt }: Change): void {
  const { packer, log } = indexed;
  const peel = knownOf(indexed.known, key);
  if (peel.factsRevision === revision) return;
  peel.factsRevision = revision;
  peel.factsStoredAt = value === undefined ? undefined : storedAt;
  peel.facts = undefined;
  for (const run of indexed.factListeners) run(peel.id);
  if (value === undefined) return;
  try {
    const { facts, cut } = packer.pack(openFacts(value));
    peel.facts = facts;
    if (cut) report(log, peel, key, "a peel has more facts than targets can use; the rest is ignored");
  } catch (cause) {
    report(log, peel, key, "the facts of a peel cannot be read", describeError(cause));
  }
}

function report(log: Log, peel: Known, key: string, event: string, reason?: string): void {
  if (!peel.reported) log.warn(event, { peel_id: key, ...defined({ reason }) });
  peel.reported = true;
}

function onHeartbeat(indexed: Indexed, { key, value, revision, storedAt }: Change) {
  const { clock, beatListeners } = indexed;
  const peel = knownOf(indexed.known, key);
  const before = peel.beatRevision;
  if (before === revision) return;
  peel.beatRevision = revision;
  if (value === undefined) return endLife(peel.life, clock.monotonic(), storedAt);
  const after = readGoodbye(value);
  if (after !== undefined) {
    // One that was overtaken by a greeting, such as that of the next start, has no effect.
    if (before <= after) endLife(peel.life, clock.monotonic(), storedAt);
    return;
  }
  // A heartbeat stored before this watch is older than its arrival. If it seems older than the bucket keeps
  // it, the clocks of the two machines differ, and the arrival is the better estimate.
  const age = clock.now() - storedAt;
  const since = age >= 0 && age <= aliveMs ? age : 0;
  noteBeat(peel.life, clock.monotonic() - since, storedAt);
  for (const run of beatListeners) run(peel.id, revision, value, storedAt);
}
