import { join } from "node:path";
import { abortable } from "../../../base/abortable.ts";
import { defined } from "../../../base/defined.ts";
import { tellsStored } from "../../../bus/mod.ts";
import { memberStates } from "../../../fleet/enrollment/mod.ts";
import { keepRoomForEvents, tellJobs, tellRollouts } from "../../../fleet/events/mod.ts";
import {
  createCommands,
  createJobController,
  createOwnRecords,
  keepRoomForReturns,
  startScheduleResults,
} from "../../../fleet/jobs/mod.ts";
import { followSilences } from "../../../fleet/peels/mod.ts";
import { followPresence, tellCompliance } from "../../../fleet/reactor/mod.ts";
import { rolloutTiming } from "../../../fleet/rollout/mod.ts";
import { dataDir } from "../../../program/config/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { startStateFiles } from "../../state-files/mod.ts";
import { startBinaries } from "../binaries.ts";
import type { MasterDeps } from "../options.ts";
import { startMasterReactor } from "../reactor.ts";
import { startRollouts } from "../rollouts.ts";
import { followSitesOfPeels } from "../sites-of-peels.ts";
import type { Audited } from "./audit.ts";
import { catchUp } from "./catch-up.ts";
import type { Connected } from "./connect.ts";
import type { Fleet } from "./fleet.ts";
import type { Gated } from "./gate.ts";
import type { Requests } from "./requests.ts";
import type { Stored } from "./storage.ts";

/** The work on the fleet: jobs, rollouts, binaries, state files, and reactions to events. */
export const work = {
  waits: { "sched-consumer": "not running yet" },
  start: (deps: MasterDeps & Connected & Stored & Fleet & Gated & Audited & Requests) =>
    assemble(async (stack) => {
      const { config, env, bus, peelBus, storage, directory, index, alive, resolver, settings, keyring } =
        deps;
      const { budgets, lines, gate, requests, recordsOf } = deps;
      const { name, metrics, clock, random, jitter, log, signal } = deps;
      const scheduleResults = startScheduleResults({
        ...{ bus, jobs: storage.jobs, metrics, lines, tracer: deps.tracer, clock, log },
        admit: (peel, bytes, storedAt) => budgets.take(peel, "schedule", bytes, storedAt),
      });
      stack.defer(() => scheduleResults.stop());

      const reportEvents = tellCompliance({
        ...{ bus, lines },
        admit: (peel, bytes, storedAt) => budgets.take(peel, "report-events", bytes, storedAt),
      });
      stack.defer(() => reportEvents.stop());

      const { mac, signer } = keyring;
      const { siteOf, stop: stopSites } = followSitesOfPeels(index);
      stack.defer(stopSites);
      const resends = () => tellsStored(bus) && !deps.relayed();
      const commands = createCommands({
        bus,
        key: signer,
        mac,
        recordsOf,
        siteOf,
        sitesOf: deps.origins.sitesOf,
        resends,
        log,
      });
      const { send, resend } = commands;
      const aliveOf = (peels: readonly string[], at: number) =>
        new Set(peels.filter((peel) => alive(peel, at)));
      const records = createOwnRecords();
      const settle = { bus, jobs: storage.jobs, records, alive, metrics, clock };
      const told = { bus, clock, log };
      const jobTeller = tellJobs(told);
      stack.defer(() => jobTeller.stop());
      const rolloutTeller = tellRollouts(told);
      stack.defer(() => rolloutTeller.stop());
      const silences = followSilences({
        ...{ bucket: storage.presence, index, compliance: deps.compliance },
        ...{ members: directory.members, clock, jitter, log },
      });
      stack.defer(() => silences.stop());
      const presence = followPresence({
        ...told,
        index,
        onLook: silences.look,
        members: directory.members,
        isMember: (peel) => memberStates.has(directory.stateOf(peel) ?? "pending"),
      });
      stack.defer(() => presence.stop());
      const controller = createJobController({
        // It sends again what peels did not accept.
        ...{ ...settle, peelBus, send: resend, teller: jobTeller, tracer: deps.tracer, jitter, log },
        tellsStored: resends,
        admit: (peel, bytes) => budgets.take(peel, "messages", bytes),
      });
      stack.defer(() => controller.stop());
      await catchUp("jobs", controller.ready, deps);
      const { oldestRunning } = controller;
      const room = keepRoomForReturns({ bus, oldestRunning, metrics, clock, log });
      stack.defer(() => room.stop());
      const jobs = {
        dispatch: {
          jobs: storage.jobs,
          records,
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
        show: { bus, jobs: storage.jobs, alive: aliveOf, clock },
        controller,
      };
      const rollouts = await startRollouts({
        ...deps,
        ...jobs,
        teller: rolloutTeller,
        timing: deps.rolloutTiming ?? rolloutTiming,
      });
      stack.defer(() => rollouts.stop());
      await catchUp("rollouts", rollouts.ready, deps);

      const binaries = await startBinaries({
        ...{ bus, name: deps.name, requests, gate },
        jobs: storage.jobs,
        controller,
        clock,
        jitter,
        log,
      });
      stack.defer(() => binaries.stop());
      const stateFiles = startStateFiles({
        ...{ bus, peelDoor: deps.peelDoor },
        leases: storage.leases,
        keyring,
        members: directory.members,
        ...{ budgets, lines },
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
      // The lease that every fleet has: the one of the reactor has a holder only where there is a reactor.
      const isTurn = () => stateFiles.lease.tenure !== undefined;
      const eventRoom = keepRoomForEvents({ bus, isTurn, metrics, lines, clock, log });
      stack.defer(() => eventRoom.stop());
      const reactor = startMasterReactor({
        ...{ config, bus, storage, dispatch: jobs.dispatch, keyring, requests },
        ...{ name, metrics, gate, tracer: deps.tracer, clock, jitter, log },
      });
      stack.defer(() => reactor?.stop());
      const leases = [settings.lease, stateFiles.lease, ...(reactor === undefined ? [] : [reactor.lease])];
      // Otherwise /readyz may say for a moment that it does not run, after the log says that the master is ready.
      await abortable(scheduleResults.attempted, signal);
      return {
        jobs,
        rollouts,
        stateFiles,
        silences,
        siteOf,
        /** The rules of the reactor that are in force here. */
        reactorRules: () => reactor?.rules() ?? [],
        reacting: () => reactor?.reacting(),
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
