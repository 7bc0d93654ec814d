import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { record } from "../../base/record.ts";
import { time } from "../../base/record-kinds.ts";
import type { Bucket, Change } from "../../bus/storage/mod.ts";
import type { ComplianceView } from "../compliance/mod.ts";
import { aliveMs, type FleetIndex } from "../targeting/mod.ts";

/** A peel that is away for less than this, such as for its restart, is not written down. */
const restartMs = 10_000;
/** A whole site may fall silent at once: how much is written in one check, and how much of it at a time. */
const maxAtOnce = { check: 2_000, writes: 32 } as const;
/** How often masters note that they have written all there is. No peel id begins with `_`. */
const markEveryMs = 60_000;
const markKey = "_seen";

const silence = record("silence", { since: ["silent_since", time] }, { isOpen: true });
const seen = record("mark of silences", { at: ["seen_at", time] }, { isOpen: true });

/** Since when peels are silent, also after the restart of the only master that received their heartbeats. */
export interface Silences {
  /** Resolves when what was stored at the start is known. */
  readonly ready: Promise<void>;
  /**
   * Since when a silent peel is silent, milliseconds since the Unix epoch. Where no master saw it fall silent, this is
   * the last time at which one knew it alive. `undefined` for one that never reported.
   */
  sinceOf(peel: string): number | undefined;
  /** Writes down what changed since the last check. Called when heartbeats had the time to arrive. */
  check(): void;
  /** Resolves when nothing is being written. */
  stop(): Promise<void>;
}

export interface SilencesDeps {
  /** The bucket `presence`. */
  bucket: Pick<Bucket, "watch" | "create" | "update" | "put" | "remove">;
  index: Pick<FleetIndex, "lifeOf" | "factsStoredAt">;
  compliance: Pick<ComplianceView, "runOf">;
  /** Encoded peel ids of the fleet's members. */
  members(): readonly string[];
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

interface Stored {
  since: number;
  revision: number;
}

interface Following extends SilencesDeps {
  readonly stored: Map<string, Stored>;
  /** The mark as it was when this master started, and as it is. */
  firstMark: number | undefined;
  mark: number | undefined;
  isReady: boolean;
  checking: Promise<void> | undefined;
  stopped: boolean;
}

/**
 * Follows and keeps the bucket `presence`: an entry for each member that is silent. Every master compares it with
 * the heartbeats it receives, and writes what differs, so that one entry is written when a peel falls silent and one
 * when it is back, whatever number of masters there is. A mark says until when all that was silent had its entry: a
 * member without one was alive then.
 */
export function followSilences(deps: SilencesDeps): Silences {
  const { log } = deps;
  const following: Following = {
    ...{ ...deps, stored: new Map(), firstMark: undefined, mark: undefined },
    ...{ isReady: false, checking: undefined, stopped: false },
  };
  const watch = deps.bucket.watch((change) => receive(following, change));
  const ready = watch.ready.then(() => {
    following.isReady = true;
  });
  return {
    ready,
    sinceOf(peel) {
      const entry = following.stored.get(peel);
      const since = deps.index.lifeOf(peel).since ?? lastSign(following, peel, entry);
      // Two masters differ by moments in what they received, but not in what is stored.
      return since !== undefined && entry !== undefined && isOf(entry, since) ? entry.since : since;
    },
    check() {
      if (!following.isReady || following.stopped || following.checking !== undefined) return;
      following.checking = write(following)
        .catch((thrown) => log.warn("silent peels not written down yet", { reason: describeError(thrown) }))
        .finally(() => {
          following.checking = undefined;
        });
    },
    async stop() {
      following.stopped = true;
      watch.stop();
      await following.checking;
    },
  };
}

function receive(following: Following, { key, value, revision }: Change): void {
  const { stored } = following;
  if (key === markKey) {
    following.mark = value && seen.decodeOrNothing(value)?.at;
    if (!following.isReady) following.firstMark = following.mark;
    return;
  }
  if (revision <= (stored.get(key)?.revision ?? 0)) return;
  const since = value && silence.decodeOrNothing(value)?.since;
  if (since === undefined) stored.delete(key);
  else stored.set(Buffer.from(key).toString(), { since, revision });
}

/** The last sign of life of a peel whose heartbeats this master never received. */
function lastSign(
  { index, compliance, firstMark }: Following,
  peel: string,
  entry: Stored | undefined,
): number | undefined {
  const reported = [index.factsStoredAt(peel), compliance.runOf(peel)?.storedAt].filter(
    (at) => at !== undefined,
  );
  if (entry !== undefined) return Math.max(entry.since, ...reported);
  // One that never reported was never alive.
  return reported.length === 0 ? undefined : Math.max(firstMark ?? 0, ...reported);
}

/** @returns what must be written; `undefined` when the entry of the peel is as it should be */
function changeOf(following: Following, peel: string): (() => Promise<unknown>) | undefined {
  const { bucket, index, clock, stored } = following;
  const entry = stored.get(peel);
  const life = index.lifeOf(peel);
  if (life.alive) return entry && (() => bucket.remove(peel, entry.revision));
  const since = life.since ?? lastSign(following, peel, entry);
  if (since === undefined || clock.now() - since < restartMs) return undefined;
  if (entry !== undefined && isOf(entry, since)) return undefined;
  const value = silence.encode({ since: Math.floor(since) });
  return () =>
    entry === undefined ? bucket.create(peel, value) : bucket.update(peel, value, entry.revision);
}

async function write(following: Following): Promise<void> {
  const { bucket, clock, stored, jitter } = following;
  const members = following.members();
  const isMember = new Set(members);
  // Masters begin at different peels, and so leave work to each other.
  const from = Math.floor(jitter() * members.length);
  const changes: (() => Promise<unknown>)[] = [];
  for (const peel of [...members.slice(from), ...members.slice(0, from)]) {
    const change = changeOf(following, peel);
    if (change !== undefined && changes.push(change) === maxAtOnce.check) break;
  }
  for (const [peel, { revision }] of stored) {
    if (changes.length >= maxAtOnce.check) break;
    if (!isMember.has(peel)) changes.push(() => bucket.remove(peel, revision));
  }
  const carryOut = async (change: () => Promise<unknown>) => following.stopped || (await change());
  await mapBounded(changes, { atOnce: maxAtOnce.writes }, carryOut);
  const isMarked = clock.now() - (following.mark ?? 0) < markEveryMs;
  if (following.stopped || changes.length > 0 || isMarked) return;
  await bucket.put(markKey, seen.encode({ at: Math.floor(clock.now()) }));
}

/** Whether an entry is about the silence that began at this time. */
const isOf = ({ since: entry }: Stored, since: number): boolean => entry >= since - aliveMs;
