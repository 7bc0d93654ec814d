import { abortable } from "../../../base/abortable.ts";
import { reportsStored } from "../../../bus/streams/mod.ts";
import { publishJobs } from "../../../fleet/events/mod.ts";
import {
  createCommands,
  createJobController,
  makeRoomForReturns,
  startScheduleResults,
} from "../../../fleet/jobs/mod.ts";
import { createOwnRecords } from "../../../fleet/jobs/records/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import { releasedFiles } from "../released-files.ts";
import { catchUp } from "./catch-up.ts";
import type { Claims } from "./claims.ts";
import type { Connected } from "./connect.ts";
import type { Decisions } from "./decisions.ts";
import type { Knowledge } from "./knowledge.ts";
import type { PeelDoor } from "./peel-door.ts";
import type { Requests } from "./requests.ts";
import type { Roles } from "./roles.ts";

interface JobsNeed {
  base: MasterDeps;
  connection: Connected;
  requests: Requests;
  roles: Roles;
  decisions: Decisions;
  claims: Claims;
  peelDoor: PeelDoor;
  knowledge: Knowledge;
}

/** Jobs: signed, sent, followed until every target has an outcome, and what schedules of peels did. */
export const jobs = {
  waits: { "sched-consumer": "not running yet" },
  start: ({ base, connection, requests, roles, decisions, claims, peelDoor, knowledge }: JobsNeed) =>
    assemble(async (stack) => {
      const { keyring, metrics, tracer, clock, random, jitter, log, signal } = base;
      const { bus, peelBus } = connection;
      const { storage } = decisions;
      const { budgets, lines, origins } = peelDoor;
      const { alive, resolver, siteOf, insists } = knowledge;
      const { mac, signer } = keyring;
      const schedules = startScheduleResults({
        ...{ bus, jobs: storage.jobs, metrics, lines, tracer, clock, log },
        admit: (peel, bytes, storedAt) => budgets.take(peel, "schedule", bytes, storedAt),
      });
      stack.defer(() => schedules.stop());
      const resends = () => reportsStored(bus) && !claims.relayed();
      const released = releasedFiles({ releases: decisions.releases.releases, ...requests });
      const commands = createCommands({
        released: released.ofJobs,
        ...{ bus, key: signer, mac, recordsOf: requests.recordsOf },
        ...{ siteOf, sitesOf: origins.sitesOf, resends, log },
      });
      const { send, resend } = commands;
      const records = createOwnRecords();
      const settle = { bus, jobs: storage.jobs, records, alive, metrics, clock };
      const reporter = publishJobs({ bus, clock, log });
      stack.defer(() => reporter.stop());
      const controller = createJobController({
        // It sends again what peels did not accept.
        ...{ ...settle, peelBus, send: resend, publisher: reporter, tracer, jitter, log },
        reportsStored: resends,
        admit: (peel, bytes) => budgets.take(peel, "messages", bytes),
      });
      stack.defer(() => controller.stop());
      await catchUp("jobs", controller.ready, base);
      const { oldestRunning } = controller;
      const room = makeRoomForReturns({ bus, oldestRunning, metrics, clock, log });
      stack.defer(() => room.stop());
      // Otherwise /readyz may say for a moment that it does not run, after the log says that the master is ready.
      await abortable(schedules.attempted, signal);
      const dispatch = {
        ...{ jobs: storage.jobs, records, resolve: resolver.resolve, alive, send, mac },
        ...{ own: controller.own, insists, mayReveal: roles.mayReveal, metrics, clock, random, log },
      };
      const aliveOf = (peels: readonly string[], at: number) =>
        new Set(peels.filter((peel) => alive(peel, at)));
      return {
        operations: {
          dispatch,
          cancel: { ...settle, send, mac, log },
          show: { bus, jobs: storage.jobs, alive: aliveOf, clock },
          controller,
        },
        /** What a hello of a peel that insists is answered with. */
        released: released.ofHello,
        /** Commands that a peel may have missed, signed again. */
        missed: (peel: string, limit: number) =>
          controller.missed(peel, limit).flatMap(({ kind, job }) => commands.sign(kind, job, peel) ?? []),
        checks: {
          "sched-consumer": () =>
            schedules.running
              ? ({ status: "up" } as const)
              : ({ status: "down", message: "not running" } as const),
        },
        view: { jobsRunning: controller.running },
      };
    }),
};

export type Jobs = OffersOf<typeof jobs>;
