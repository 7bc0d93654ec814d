import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { foldHours } from "./fold.ts";
import { aheadMs, type Cycle, hours, minutes, slotOf } from "./place.ts";
import { type Counts, encodeSamples, type Levels, type Sample } from "./sample.ts";
import type { SampleView } from "./view.ts";

/** How often this master checks whether a sample is due: a master that takes over loses no minute. */
const tickMs = 10_000;

export interface MaintainDeps {
  view: SampleView;
  /** The bucket `samples`. */
  bucket: Pick<Bucket, "get" | "create" | "update">;
  /** Whether this master holds the lease that every fleet has. */
  isTurn(): boolean;
  /** Milliseconds since the Unix epoch by the clock of the bus: masters differ, and may be set. */
  busTime(): number;
  /** How the fleet is now. */
  levels(): Levels;
  /** The jobs whose end was stored after this revision, and the revision that is known now. */
  endedSince(seen: number | undefined): Promise<{ counts: Counts; seen: number }>;
  clock: Clock;
  log: Log;
}

/**
 * Writes a sample each minute while it is the turn of this master, and one of each hour when that is over. A write
 * replaces the revision that it was made from, and a minute that has its sample gets no other one: two masters at once
 * neither lose nor double one. What a master could not write counts in the next sample.
 */
export function maintainSamples(deps: MaintainDeps): { stop(): Promise<void> } {
  const { clock, log } = deps;
  let running: Promise<void> | undefined;
  let stopped = false;
  const tick = () => {
    if (stopped || running !== undefined) return;
    running = maintain(deps)
      .catch((thrown) => log.debug("the sample of a minute is not stored", { reason: describeError(thrown) }))
      .finally(() => {
        running = undefined;
      });
  };
  const timer = clock.every(tickMs, tick);
  tick();
  return {
    async stop() {
      stopped = true;
      timer.cancel();
      await running;
    },
  };
}

async function maintain(deps: MaintainDeps): Promise<void> {
  const { view, isTurn, busTime, levels, endedSince } = deps;
  if (!isTurn() || hasMinute(view, busTime())) return;
  // What the master before this one wrote is known then.
  await view.caughtUp();
  const now = busTime();
  if (hasMinute(view, now)) return;
  await foldEnded(deps, now);
  const { counts, seen } = await endedSince(view.seen(now));
  // A process that was paused meanwhile has lost its turn.
  if (!isTurn()) return;
  await write(deps, minutes, { now, samples: [{ at: now, levels: levels(), counts }], seen });
}

function hasMinute(view: SampleView, now: number): boolean {
  const slot = slotOf(now, minutes);
  return view.at(minutes.keyOf(now)).samples.some(({ at }) => slotOf(at, minutes) === slot);
}

/** Before the minutes of an hour are overwritten, a day later. */
async function foldEnded(deps: MaintainDeps, now: number): Promise<void> {
  const { view } = deps;
  const began = slotOf(now, hours) * hours.slotMs;
  const oldest = now - hours.keptMs;
  const ended = foldHours(view.stored(minutes, now), view.samples(hours, now), began);
  const byKey = Map.groupBy(
    ended.filter(({ at }) => at > oldest),
    ({ at }) => hours.keyOf(at),
  );
  for (const samples of byKey.values()) await write(deps, hours, { now, samples });
}

/** Adds samples of one key to those that still count. */
async function write(
  { view, bucket }: MaintainDeps,
  cycle: Cycle,
  { now, samples, seen }: { now: number; samples: readonly Sample[]; seen?: number },
): Promise<void> {
  const [first] = samples;
  if (first === undefined) return;
  const key = cycle.keyOf(first.at);
  const { samples: before, revision } = view.at(key);
  const added = new Set(samples.map(({ at }) => slotOf(at, cycle)));
  const kept = before.filter(
    ({ at }) => at > now - cycle.keptMs && at <= now + aheadMs && !added.has(slotOf(at, cycle)),
  );
  const value = encodeSamples({ samples: [...kept, ...samples], ...(seen === undefined ? {} : { seen }) });
  const written =
    revision === undefined ? await bucket.create(key, value) : await bucket.update(key, value, revision);
  if (written !== undefined) return view.note({ key, value, revision: written });
  // Another master was faster, or the bucket was created again, and a watch that continues does not know that.
  view.note((await bucket.get(key)) ?? { key, revision: 0 });
}
