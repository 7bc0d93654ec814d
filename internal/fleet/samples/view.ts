import type { Bucket, Change } from "../../bus/storage/mod.ts";
import { aheadMs, type Cycle, cycleOf, minutes, slotOf } from "./place.ts";
import { decodeSamples, type Sample, type Stored } from "./sample.ts";

/** The samples in the memory of a master, kept up to date by one watch. */
export interface SampleView {
  /** Resolves when all that was stored at the start is known. */
  readonly ready: Promise<void>;
  /** Whether it is ready; before that it is incomplete. */
  readonly running: boolean;
  /** Resolves when all that is stored now is known. */
  caughtUp(): Promise<void>;
  /** The samples of a cycle that count at this time, oldest first. @param now milliseconds by the clock of the bus */
  samples(cycle: Cycle, now: number): readonly Sample[];
  /** All that is stored of a cycle up to this time, however old: what was not folded yet still can be. */
  stored(cycle: Cycle, now: number): readonly Sample[];
  /** Up to which revision endings of jobs are counted; `undefined` before the first sample. */
  seen(now: number): number | undefined;
  /** What a key holds, and its revision; no revision for one that must be created. */
  at(key: string): Known;
  /** Takes what a key holds, as it was written or read just now, before the watch delivers it. */
  note(change: Pick<Change, "key" | "revision" | "value">): void;
  stop(): void;
}

interface Known extends Stored {
  readonly revision?: number;
}

const nothing: Known = { samples: [] };

/** Follows the bucket `samples`. Keys and values that masters never write are as if they were not there. */
export function followSamples({ bucket }: { bucket: Pick<Bucket, "watch"> }): SampleView {
  const known = new Map<string, Known>();
  let running = false;
  const watch = bucket.watch((change) => receive(known, change));
  const ready = watch.ready.then(() => {
    running = true;
  });
  ready.catch(() => {});
  const stored = (cycle: Cycle, now: number) => storedOf(known, cycle, now);
  return {
    ready,
    get running() {
      return running;
    },
    caughtUp: watch.caughtUp,
    stored,
    samples: (cycle, now) => stored(cycle, now).filter(({ at }) => at > now - cycle.keptMs),
    seen(now) {
      const newest = stored(minutes, now).at(-1);
      return newest && known.get(minutes.keyOf(newest.at))?.seen;
    },
    at: (key) => known.get(key) ?? nothing,
    note: (change) => receive(known, change),
    stop: () => watch.stop(),
  };
}

// An earlier revision may come late: then a write from it is refused, and the later one follows.
function receive(
  known: Map<string, Known>,
  { key, value, revision }: Pick<Change, "key" | "revision" | "value">,
): void {
  const cycle = cycleOf(key);
  if (cycle === undefined) return;
  if (value === undefined) {
    known.delete(key);
    return;
  }
  const { samples, ...rest } = decodeSamples(value);
  known.set(key, { ...rest, samples: samples.filter(({ at }) => cycle.keyOf(at) === key), revision });
}

function storedOf(known: ReadonlyMap<string, Known>, cycle: Cycle, now: number): readonly Sample[] {
  const bySlot = new Map<number, Sample>();
  for (const [key, { samples }] of known) {
    if (cycleOf(key) !== cycle) continue;
    // The clock of the bus may have been ahead when it was taken.
    for (const sample of samples) {
      if (sample.at <= now + aheadMs) bySlot.set(slotOf(sample.at, cycle), sample);
    }
  }
  return [...bySlot.values()].toSorted((one, other) => one.at - other.at);
}
