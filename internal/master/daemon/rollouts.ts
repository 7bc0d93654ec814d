import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { Tracer } from "../../base/trace.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { type Bucket, openBucket } from "../../bus/storage/mod.ts";
import type { Recorder } from "../../fleet/audit/mod.ts";
import type { RolloutTeller } from "../../fleet/events/mod.ts";
import type { CancelDeps, DispatchDeps } from "../../fleet/jobs/mod.ts";
import type { Releases } from "../../fleet/releases/mod.ts";
import {
  createRolloutController,
  createRolloutJobs,
  isLive,
  type RolloutOperationDeps,
  type RolloutTiming,
  type StartDeps,
} from "../../fleet/rollout/mod.ts";
import type { MasterMetrics, MasterView } from "../metrics/mod.ts";

/** Rollouts on a master: those that it drives, those that it may take over, and the doors to them. */
export interface MasterRollouts {
  /** What the operations on rollouts need. */
  operations: RolloutOperationDeps;
  /** For parts that start their own rollouts. */
  start: StartDeps;
  /** How many of those that have not ended each master drives, by its name. */
  driven(): ReadonlyMap<string, number>;
  view: NonNullable<MasterView["rollouts"]>;
  bucket: Bucket;
  /** Resolves when every existing rollout was seen. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

export async function startRollouts(options: {
  bus: Bus;
  dispatch: DispatchDeps;
  cancel: CancelDeps;
  /** Of this master. */
  name: string;
  timing: RolloutTiming;
  /** Those of state files, which overtake rollouts that nobody signed. */
  releases: Pick<Releases, "newest" | "withSnapshot" | "onChange">;
  insists(peel: string): boolean;
  /** Which of these peels are not connected now. */
  awayOf: StartDeps["awayOf"];
  metrics: Pick<MasterMetrics, "rolloutWave" | "rolloutEnded" | "rolloutTaken">;
  /** Records each job of a wave. */
  recorder: Pick<Recorder, "begin">;
  /** Begins a trace for each of these jobs. */
  tracer: Tracer;
  /** Reports what becomes of them. */
  publisher: RolloutTeller;
  clock: Clock;
  random: Random;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}): Promise<MasterRollouts> {
  const { bus, dispatch, cancel, recorder, clock, random, log } = options;
  const rollouts = await openBucket(bus, "rollouts");
  const self = options.name;
  const jobs = createRolloutJobs({ dispatch, cancel, recorder, tracer: options.tracer });
  const { mac } = dispatch;
  const releases = releasesInForce(options);
  const controller = createRolloutController({ ...options, releases, rollouts, jobs, mac, self });
  const { resolve } = dispatch;
  const start = {
    ...{ rollouts, resolve, awayOf: options.awayOf, running: controller.running, mac, releases, self },
    ...{ clock, random, log },
  };
  const command = { rollouts, self, clock, log };
  const operations = { start, command, controller, follow: { bus, rollouts } };
  return {
    bucket: rollouts,
    operations,
    start,
    ready: controller.ready,
    driven() {
      const drivers = controller.known().flatMap((one) => (isLive(one) ? (one.driver ?? []) : []));
      return new Map([...Map.groupBy(drivers, (name) => name)].map(([name, same]) => [name, same.length]));
    },
    view() {
      const live = controller.known().filter(isLive);
      const byStatus = { running: 0, paused: 0 };
      for (const { status } of live) byStatus[status === "paused" ? "paused" : "running"]++;
      const progress = live.map(({ id, plan: { bounds }, waves }) => {
        const ended = waves.filter(({ endedAt }) => endedAt !== undefined).length;
        return [id, (bounds[ended - 1] ?? 0) / (bounds.at(-1) ?? 1)];
      });
      return { byStatus, progress: Object.fromEntries(progress), undriven: controller.undriven() };
    },
    stop: controller.stop,
  };
}

function releasesInForce({
  releases,
  insists,
}: Pick<Parameters<typeof startRollouts>[0], "releases" | "insists">) {
  return {
    newest: (environment: string) => releases.newest(environment)?.release,
    versionOf: ({ environment, snapshot }: { environment: string; snapshot: string }) =>
      releases.withSnapshot(environment, snapshot)?.release.version,
    insists,
    onChange: releases.onChange,
  };
}
