import type { Clock, Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import type { Bucket, Change } from "../../bus/storage/mod.ts";
import type { Instance } from "../../wire/instance.ts";
import type { Directory } from "../enrollment/store/mod.ts";
import { type Judged, latest, nothingSeen, onlyOneSince, open, receive } from "./standing.ts";
import { encodeKnown, type Known, readKnown } from "./stored.ts";

/** Masters see the same at the same moment: over this time they leave the writing to each other. */
const writeWithinMs = 5_000;
/** A whole fleet may restart at once. */
const writesAtOnce = 16;
const sweepEveryMs = 5 * 60_000;

export interface TwinsDeps {
  /** The bucket `instances`. */
  bucket: Pick<Bucket, "watch" | "create" | "update" | "remove">;
  directory: Pick<Directory, "memberOf">;
  /** Marks an enrollment of which a second holder was seen. Called again while there are two. */
  suspect(enrollmentId: string): void;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

/** What is known of the processes of one peel. */
export interface KnownInstances {
  /** Since when no other process was seen than the one now, milliseconds since the Unix epoch. */
  onlySince: number;
  /** Whether it names its process in its messages. */
  isNamed: boolean;
  /** When its host was last seen to be set back. */
  restoredAt?: number | undefined;
}

export interface Twins {
  /** Resolves when what was stored at the start is known. */
  readonly ready: Promise<void>;
  /**
   * Takes a message of a peel.
   *
   * @param at when the bus stored it or this master received it, by the clock of the bus, milliseconds since the Unix
   *   epoch
   */
  received(peel: string, instance: Instance | undefined, at: number): void;
  /** Takes that a peel connected, or that it is connected since then. */
  connected(peel: string, at: number): void;
  /** What masters know of a member; `undefined` before its first message. */
  of(peel: string): KnownInstances | undefined;
  stop(): Promise<void>;
}

interface Following extends TwinsDeps {
  readonly known: Map<string, Known>;
  /** The revision of each entry, and which instance is the newest in it. */
  readonly stored: Map<string, { revision: number; newest: string }>;
  /** Those whose entry must be written. */
  readonly changed: Set<string>;
  isReady: boolean;
  timer: Timer | undefined;
  writing: Promise<void> | undefined;
  stopped: boolean;
}

/**
 * Follows which processes send messages with the identity of each peel. Every master judges what it receives: all of
 * them receive the heartbeats, and one of them each hello, and less than all is never taken for two hosts. What a
 * master needs that starts later is stored, once for each process.
 */
export function followTwins(deps: TwinsDeps): Twins {
  const following: Following = {
    ...{ ...deps, known: new Map(), stored: new Map(), changed: new Set() },
    ...{ isReady: false, timer: undefined, writing: undefined, stopped: false },
  };
  const watch = deps.bucket.watch((change) => learn(following, change));
  const sweeping = deps.clock.every(sweepEveryMs, () => sweep(following));
  return {
    ready: watch.ready.then(() => {
      following.isReady = true;
    }),
    received(peel, instance, at) {
      // What it follows is not known yet. The next heartbeat is.
      if (!following.isReady) return;
      const named =
        instance === undefined
          ? { at }
          : { at, instance: { id: Buffer.from(instance.id).toString("hex"), seq: instance.seq } };
      take(following, peel, (known) => receive(known, named));
    },
    connected(peel, at) {
      // One that sent nothing yet has nothing that this follows.
      if (following.known.has(peel)) take(following, peel, (known) => open(known, at));
    },
    of(peel) {
      const { enrollmentId, standing, restoredAt } = following.known.get(peel) ?? {};
      const onlySince = standing && onlyOneSince(standing);
      const isOf = enrollmentId === deps.directory.memberOf(peel)?.id;
      if (standing === undefined || onlySince === undefined || !isOf) return undefined;
      return { onlySince, isNamed: latest(standing.seen)?.id !== "", restoredAt };
    },
    async stop() {
      following.stopped = true;
      following.timer?.cancel();
      sweeping.cancel();
      watch.stop();
      await following.writing;
    },
  };
}

function take(following: Following, peel: string, judge: (standing: Known["standing"]) => Judged): void {
  const { directory, known, log } = following;
  const enrollmentId = directory.memberOf(peel)?.id;
  if (enrollmentId === undefined) return;
  const found = known.get(peel);
  const before = found?.enrollmentId === enrollmentId ? found : undefined;
  const { standing, verdict } = judge(before?.standing ?? nothingSeen);
  const last = latest(standing.seen)?.last;
  const restoredAt = verdict === "restored" ? last : before?.restoredAt;
  known.set(peel, { enrollmentId, standing, restoredAt });
  if (verdict === "twins") following.suspect(enrollmentId);
  if (verdict === "restored") {
    log.warn("peel.restored", { enrollment_id: enrollmentId, peel_id: peel });
  }
  const isChanged = standing.seen.at(-1)?.id !== following.stored.get(peel)?.newest || before === undefined;
  if (verdict !== undefined || isChanged) write(following, peel);
}

/** Takes what is stored: this master judges by it only what it has not followed itself. */
function learn({ known, stored, changed, directory }: Following, { key, value, revision }: Change): void {
  const peel = Buffer.from(key).toString();
  if (revision <= (stored.get(peel)?.revision ?? 0)) return;
  const found = value && readKnown(value);
  if (found === undefined) return void stored.delete(peel);
  const newest = found.standing.seen.at(-1)?.id ?? "";
  stored.set(peel, { revision, newest });
  const own = known.get(peel);
  const isOwn = own !== undefined && own.enrollmentId === directory.memberOf(peel)?.id;
  if (!isOwn) known.set(peel, found);
  else if (own.standing.seen.at(-1)?.id === newest) changed.delete(peel);
}

function write(following: Following, peel: string): void {
  if (following.stopped) return;
  following.changed.add(peel);
  following.timer ??= following.clock.after(Math.round(writeWithinMs * following.jitter()), () => {
    following.timer = undefined;
    following.writing = writeChanged(following).finally(() => {
      following.writing = undefined;
    });
  });
}

async function writeChanged(following: Following): Promise<void> {
  const { known, stored, changed, bucket, log } = following;
  const peels = [...changed];
  changed.clear();
  await mapBounded(peels, { atOnce: writesAtOnce }, async (peel) => {
    const found = known.get(peel);
    if (found === undefined || following.stopped) return;
    const entry = stored.get(peel);
    const value = encodeKnown(found);
    try {
      // Where another master was first, it saw the same.
      await (entry === undefined ? bucket.create(peel, value) : bucket.update(peel, value, entry.revision));
    } catch (thrown) {
      log.debug("the instance of a peel is not written down yet", { reason: describeError(thrown) });
      changed.add(peel);
    }
  });
}

/** Forgets those that are not members, and writes what could not be written. */
function sweep(following: Following): void {
  const { known, stored, changed, directory, bucket, log } = following;
  const isGone = (peel: string) => directory.memberOf(peel) === undefined;
  for (const peel of known.keys()) if (isGone(peel)) known.delete(peel);
  const [first] = changed;
  if (first !== undefined) write(following, first);
  const gone = [...stored].filter(([peel]) => isGone(peel));
  mapBounded(gone, { atOnce: writesAtOnce }, ([peel, { revision }]) => bucket.remove(peel, revision)).catch(
    (thrown) => log.debug("entries of instances not removed yet", { reason: describeError(thrown) }),
  );
}
