import { expect } from "bun:test";
import { defined } from "../../internal/base/defined.ts";
import { systemRandom } from "../../internal/base/id.ts";
import type { Bucket } from "../../internal/bus/storage/bucket.ts";
import type { SignedRequestOf } from "../../internal/fleet/jobs/records/record.ts";
import type { PlannedJob } from "../../internal/fleet/jobs/records/tombstone.ts";
import { createRolloutController } from "../../internal/fleet/rollout/controller.ts";
import type { Observation } from "../../internal/fleet/rollout/decide.ts";
import type { RolloutJobs, WaveRequest } from "../../internal/fleet/rollout/jobs.ts";
import {
  decodeRollout,
  type Rollout,
  type RolloutStep,
  type WaveCounts,
} from "../../internal/fleet/rollout/record.ts";
import type { RolloutRequest } from "../../internal/fleet/rollout/request.ts";
import { storeRollout } from "../../internal/fleet/rollout/start.ts";
import { rolloutTiming } from "../../internal/fleet/rollout/timing.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { createRecordMac } from "../../internal/identity/record-mac.ts";
import type { memoryBucket } from "./bucket.ts";
import { manualClock, settle } from "./clock.ts";
import { recordingLog } from "./log.ts";

// Masters in memory with their own clocks. Each can be frozen during any step, forever or until it resumes,
// which covers everything that can happen to a process.

const mac = createRecordMac(newKeyPair("user", systemRandom));
export const peels = ["a", "b", "c", "d", "e"].map((name) => `peel-${name}`);

/** The jobs of a fleet, and their results. */
export function fleet() {
  const made = new Map<string, PlannedJob | "forbidden">();
  const ends = new Map<string, PromiseWithResolvers<Observation>>();
  const requested = new Map<string, WaveRequest | undefined>();
  const cancelled: string[] = [];
  const endOf = (jid: string) => {
    const end = ends.get(jid) ?? Promise.withResolvers<Observation>();
    ends.set(jid, end);
    return end;
  };
  const stand = (jid: string): Observation => {
    const job = made.get(jid);
    return job === undefined || job === "forbidden"
      ? { jid, observed: "forbidden" }
      : { jid, observed: "made", peels: job.targets.length };
  };
  const world = {
    ...{ cancelled, requested },
    /** Whether jobs succeed by themselves. */
    well: true,
    jobs: () => [...made.values()].filter((job) => job !== "forbidden"),
    finish: (jid: string, counts: WaveCounts) => endOf(jid).resolve({ jid, observed: "ended", counts }),
    port: {
      async make(job, of?: WaveRequest) {
        requested.set(job.jid, of);
        if (!made.has(job.jid)) made.set(job.jid, job);
        if (world.well) world.finish(job.jid, { ok: job.targets.length });
        return stand(job.jid);
      },
      async claim(job) {
        if (!made.has(job.jid)) made.set(job.jid, "forbidden");
        return stand(job.jid);
      },
      async cancel(jid) {
        cancelled.push(jid);
        world.finish(jid, { cancelled: 1 });
      },
      ended: (jid) => endOf(jid).promise,
      async wentWell(jid) {
        const job = made.get(jid);
        return job === undefined || job === "forbidden" ? [] : job.targets;
      },
    } satisfies RolloutJobs,
  };
  return world;
}

type World = ReturnType<typeof fleet>;

/** A master that freezes after it has stored a rollout at this step. */
export function master(
  self: string,
  bucket: ReturnType<typeof memoryBucket>,
  world: World,
  freezeAt?: RolloutStep,
) {
  const clock = manualClock();
  const { records, ...log } = recordingLog();
  let ice = Promise.withResolvers<void>();
  ice.resolve();
  let melted = false;
  const through = async <T>(run: () => Promise<T>): Promise<T> => {
    await ice.promise;
    const result = await run();
    await ice.promise;
    return result;
  };
  const rollouts: Bucket = {
    ...bucket,
    get: (key) => through(() => bucket.get(key)),
    create: (key, value) => through(() => bucket.create(key, value)),
    update: (key, value, revision) =>
      through(async () => {
        const stored = await bucket.update(key, value, revision);
        const isThere =
          stored !== undefined && key.startsWith("rol-") && decodeRollout(value).step === freezeAt;
        if (isThere && !melted) ice = Promise.withResolvers();
        return stored;
      }),
    watch: (onChange, keys) => bucket.watch((change) => void ice.promise.then(() => onChange(change)), keys),
  };
  const port: RolloutJobs = {
    make: (job, of) => through(() => world.port.make(job, of)),
    claim: (job) => through(() => world.port.claim(job)),
    cancel: (jid) => through(() => world.port.cancel(jid)),
    ended: (jid) => through(() => world.port.ended(jid)),
    wentWell: (jid) => through(() => world.port.wentWell(jid)),
  };
  const taken: string[] = [];
  const released = releasesOf();
  const controller = createRolloutController({
    bus: { onReconnect: () => () => {} },
    rollouts,
    jobs: port,
    mac,
    releases: released.releases,
    self,
    timing: rolloutTiming,
    clock,
    random: systemRandom,
    jitter: () => 0,
    metrics: { rolloutWave() {}, rolloutEnded() {}, rolloutTaken: (from) => taken.push(from) },
    log,
  });
  return {
    clock,
    controller,
    taken,
    /** A release of `base`. */
    release: released.release,
    records,
    command: { rollouts, self, clock, log },
    start: (request: Partial<RolloutRequest> = {}, signed?: SignedRequestOf, files: Files = {}) =>
      storeRollout(
        {
          ...defined({ signed }),
          ...files,
          releases: released.releases,
          rollouts,
          awayOf: async () => [],
          resolve: async () => peels,
          running: controller.running,
          mac,
          self,
          clock,
          random: systemRandom,
          log,
        },
        { target: "*", function: "test.ping", waves: 2, ...request },
        "tester",
      ),
    freeze() {
      ice = Promise.withResolvers();
    },
    /** Resumes after this time, with the step that it was about to do. */
    thaw(afterMs: number) {
      melted = true;
      clock.advance(afterMs);
      ice.resolve();
    },
  };
}

type Files = Pick<Parameters<typeof storeRollout>[0], "content" | "released">;

/** The releases of `base` that a master knows. The first peel runs released files alone. */
function releasesOf() {
  const all: { version: number; snapshot: string }[] = [];
  const listeners: (() => void)[] = [];
  return {
    releases: {
      newest: (environment: string) => (environment === "base" ? all.at(-1) : undefined),
      versionOf: ({ snapshot }: { snapshot: string }) =>
        all.findLast((one) => one.snapshot === snapshot)?.version,
      insists: (peel: string) => peel === peels[0],
      onChange(run: () => void) {
        listeners.push(run);
        return () => {};
      },
    },
    release(snapshot: string) {
      all.push({ version: all.length + 1, snapshot });
      for (const run of listeners) run();
    },
  };
}

/** Advances time for some masters; a frozen one gets none. */
export async function pass(ms: number, ...masters: { clock: { advance(ms: number): void } }[]) {
  for (let passed = 0; passed < ms; passed += 1_000) {
    for (const { clock } of masters) clock.advance(1_000);
    await settle();
  }
}

/** Every peel is in one job of a wave, and the waves are those of the plan. */
export function expectOnce(world: World, rollout: Rollout) {
  const waves = world.jobs().filter(({ metadata }) => metadata.check === undefined);
  expect(waves.flatMap(({ targets }) => targets)).toEqual(peels);
  expect(waves.map(({ metadata }) => metadata.wave)).toEqual(["1/3", "2/3", "3/3"]);
  expect(waves.map(({ jid }) => jid)).toEqual(rollout.waves.map(({ job }) => job.jid));
}
