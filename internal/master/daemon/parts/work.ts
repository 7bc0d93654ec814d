import { join } from "node:path";
import { defined } from "../../../base/defined.ts";
import {
  createCommands,
  createJobController,
  readAlive,
  startScheduleResults,
} from "../../../fleet/jobs/mod.ts";
import { rolloutTiming } from "../../../fleet/rollout/mod.ts";
import { createRecordMac } from "../../../identity/mod.ts";
import { dataDir } from "../../../program/config/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { startBinaries } from "../binaries.ts";
import type { MasterDeps } from "../options.ts";
import { startMasterReactor } from "../reactor.ts";
import { startRollouts } from "../rollouts.ts";
import { startStateFiles } from "../state-files.ts";
import { catchUp } from "./catch-up.ts";
import type { Connected } from "./connect.ts";
import type { Fleet } from "./fleet.ts";
import type { Stored } from "./storage.ts";

/** The work on the fleet: jobs, rollouts, binaries, state files, and reactions to events. */
export const work = {
  waits: { "sched-consumer": "not running yet" },
  start: (deps: MasterDeps & Connected & Stored & Fleet) =>
    assemble(async (stack) => {
      const { config, env, bus, storage, directory, index, alive, resolver, settings, keys } = deps;
      const { name, metrics, clock, random, jitter, log, signal } = deps;
      const scheduleResults = startScheduleResults({ bus, jobs: storage.jobs, metrics, clock, log });
      stack.defer(() => scheduleResults.stop());

      const mac = createRecordMac(keys.command);
      const commands = createCommands({ bus, key: keys.command, mac, log });
      const { send } = commands;
      const settle = { bus, jobs: storage.jobs, alive, metrics, clock };
      const controller = createJobController({ ...settle, send, jitter, log });
      stack.defer(() => controller.stop());
      await catchUp("jobs", controller.ready, deps);
      const jobs = {
        dispatch: {
          jobs: storage.jobs,
          resolve: resolver.resolve,
          alive,
          send,
          mac,
          own: controller.own,
          metrics,
          clock,
          random,
          log,
        },
        cancel: { ...settle, send, mac, log },
        show: { bus, jobs: storage.jobs, alive: readAlive(storage.peelHeartbeats), clock },
        controller,
      };
      const rollouts = await startRollouts({
        ...deps,
        ...jobs,
        timing: deps.rolloutTiming ?? rolloutTiming,
      });
      stack.defer(() => rollouts.stop());
      await catchUp("rollouts", rollouts.ready, deps);

      const binaries = await startBinaries({ bus, jobs: storage.jobs, controller, clock, jitter, log });
      stack.defer(() => binaries.stop());
      const stateFiles = startStateFiles({
        bus,
        leases: storage.leases,
        command: keys.command,
        members: directory.members,
        binaries: binaries.cache,
        statesDir: config.states_dir,
        git: {
          remotes: config["gitfs.remotes"],
          intervalMs: config["gitfs.interval"],
          sshKey: config["gitfs.ssh_key"],
        },
        gitDir: join(dataDir(env), "gitfs"),
        name,
        clock,
        jitter,
        log,
        signal,
      });
      stack.defer(() => stateFiles.stop());
      const reactor = startMasterReactor({
        ...{ config, bus, storage, directory, index, dispatch: jobs.dispatch, command: keys.command },
        ...{ name, metrics, clock, jitter, log },
      });
      stack.defer(() => reactor?.stop());
      const leases = [settings.lease, stateFiles.lease, ...(reactor === undefined ? [] : [reactor.lease])];
      return {
        jobs,
        rollouts,
        stateFiles,
        /** Commands that a peel may have missed, signed again. */
        missed: (peel: string, limit: number) =>
          controller.missed(peel, limit).flatMap(({ kind, job }) => commands.sign(kind, job, peel) ?? []),
        checks: {
          "sched-consumer": () =>
            scheduleResults.running
              ? ({ status: "up" } as const)
              : ({ status: "down", message: "not running" } as const),
          ...defined({ gitfs: stateFiles.check, reactor: reactor?.check }),
        },
        view: {
          jobsRunning: controller.running,
          rollouts: rollouts.view,
          ...defined({ reactor: reactor?.view }),
          leases: () => Object.fromEntries(leases.map(({ name, tenure }) => [name, tenure !== undefined])),
        },
      };
    }),
};

export type Work = OffersOf<typeof work>;
