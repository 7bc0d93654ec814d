import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { described, integer, timestamp, titled } from "../../base/schema.ts";
import { operation } from "../operation/mod.ts";
import { foldHours } from "./fold.ts";
import { hours, minutes } from "./place.ts";
import { type Count, counts, type Level, levels, type Sample } from "./sample.ts";
import type { SampleView } from "./view.ts";

/** What a master answers from: all of it is in its memory. */
export interface SamplesDeps {
  samples: Pick<SampleView, "samples" | "caughtUp" | "running">;
  /** Milliseconds since the Unix epoch by the clock of the bus. */
  busTime(): number;
}

const dayMs = 24 * 3600_000;
const periods = { "24h": dayMs, "30d": 30 * dayMs, "90d": 90 * dayMs } as const;
const names = Object.keys(periods) as (keyof typeof periods)[];

const line = (description: string) => described(v.array(v.nullable(integer)), description);
const levelLines = {
  alive: line("Members whose heartbeat is recent"),
  silent: line("Members whose heartbeat is not recent"),
  pending: line("Enrollments that wait for a decision"),
  drifted: line("Members whose last state run changed something, or would"),
  states_failed: line("Members where states failed in the last run"),
  stored_bytes: line("What the bus stores of the fleet on disk"),
  limit_bytes: line("What it may store of it"),
} satisfies Record<Level, unknown>;
const counted = (description: string) => described(v.array(integer), description);
const countLines = {
  jobs_completed: counted("Jobs that ended well since the sample before"),
  jobs_failed: counted("Jobs that failed since the sample before"),
  jobs_cancelled: counted("Jobs that were cancelled since the sample before"),
} satisfies Record<Count, unknown>;

export const readSamples = operation({
  name: "samples.read",
  kind: "read",
  summary: "Read how the fleet was over time",
  description:
    "One sample a minute for 24 hours, and one an hour for 30 or 90 days, oldest first, from the memory of the master that answers. Each list has one item for each time, `null` where the value was not known. There is no sample for a time in which no master ran. For an hour, levels are the mean of its minutes, `max` is the highest of them, and counts are the sum.",
  scope: { kind: "masters", action: "read" },
  input: v.strictObject({
    period: v.optional(described(v.picklist(names), "How far back"), "24h"),
  }),
  output: titled(
    "Samples",
    v.object({
      period: v.picklist(names),
      step_ms: described(integer, "How much time a sample stands for"),
      from: timestamp,
      until: described(timestamp, "Now, by the clock of the bus"),
      at: described(v.array(timestamp), "When each was taken; of an hour, its beginning"),
      ...levelLines,
      ...countLines,
      max: v.exactOptional(described(v.object(levelLines), "The highest in each hour")),
    }),
  ),
  async run({ samples, busTime }: SamplesDeps, { period }) {
    if (!samples.running)
      throw new SvcError(
        "unavailable",
        "the samples are not read completely yet: ask again in a few seconds",
      );
    await samples.caughtUp();
    const now = busTime();
    const from = now - periods[period];
    const cycle = period === "24h" ? minutes : hours;
    const found = (period === "24h" ? samples.samples(minutes, now) : hoursUntil(samples, now)).filter(
      ({ at }) => at > from,
    );
    return {
      ...{ period, step_ms: cycle.slotMs, from: rfc3339(from), until: rfc3339(now) },
      at: found.map(({ at }) => rfc3339(at)),
      ...linesOf(levels, found, (sample) => sample.levels),
      ...linesOf(counts, found, (sample) => sample.counts),
      ...(period === "24h" ? {} : { max: linesOf(levels, found, (sample) => sample.max ?? sample.levels) }),
    };
  },
});

/** Those that are stored, and the hours that no master wrote yet: above all the one that is not over. */
function hoursUntil(samples: SamplesDeps["samples"], now: number): readonly Sample[] {
  const stored = samples.samples(hours, now);
  return [...stored, ...foldHours(samples.samples(minutes, now), stored, now)].toSorted(
    (one, other) => one.at - other.at,
  );
}

function linesOf<Name extends string, Value>(
  lines: readonly Name[],
  found: readonly Sample[],
  valuesOf: (sample: Sample) => Readonly<Record<Name, Value>>,
): Record<Name, Value[]> {
  return Object.fromEntries(
    lines.map((name) => [name, found.map((sample) => valuesOf(sample)[name])]),
  ) as Record<Name, Value[]>;
}
