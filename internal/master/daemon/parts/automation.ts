import { join } from "node:path";
import { defined } from "../../../base/defined.ts";
import { makeRoomForEvents, publishRefusals, publishRollouts } from "../../../fleet/events/mod.ts";
import { requestMasterCheck } from "../../../fleet/masters/mod.ts";
import { rolloutTiming } from "../../../fleet/rollout/mod.ts";
import { dataDir } from "../../../program/config/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { createStateStage, startStateFiles } from "../../state-files/mod.ts";
import { guardAssets } from "../../storage/mod.ts";
import { startBinaries } from "../binaries.ts";
import { namedSnapshots } from "../named-snapshots.ts";
import type { MasterDeps } from "../options.ts";
import { startMasterReactor } from "../reactor.ts";
import { startRollouts } from "../rollouts.ts";
import type { Audited } from "./audit.ts";
import { catchUp } from "./catch-up.ts";
import type { Connected } from "./connect.ts";
import type { Decisions } from "./decisions.ts";
import type { Gated } from "./gate.ts";
import type { Jobs } from "./jobs.ts";
import type { Knowledge } from "./knowledge.ts";
import type { Members } from "./members.ts";
import type { Operators } from "./operators.ts";
import type { PeelDoor } from "./peel-door.ts";
import type { Requests } from "./requests.ts";
import type { Opened } from "./storage.ts";

interface AutomationNeed {
  base: MasterDeps;
  connection: Connected;
  opened: Opened;
  audit: Audited;
  requests: Requests;
  operators: Operators;
  decisions: Decisions;
  members: Members;
  peelDoor: PeelDoor;
  knowledge: Knowledge;
  gate: Gated;
  jobs: Jobs;
}

type StateFilesOptions = Parameters<typeof startStateFiles>[0];

/** What masters do by themselves: rollouts, published files and binaries, and reactions to events. */
export const automation = {
  start: (need: AutomationNeed) =>
    assemble(async (stack) => {
      const { base, connection, audit, requests, decisions, gate, jobs, knowledge } = need;
      const { config, keyring, name, metrics, tracer, clock, random, jitter, log } = base;
      const { bus } = connection;
      const { storage } = decisions;
      const { lines } = need.peelDoor;
      const { dispatch, cancel, controller } = jobs.operations;
      const reporter = publishRollouts({ bus, clock, log });
      stack.defer(() => reporter.stop());
      const rollouts = await startRollouts({
        ...{ bus, dispatch, cancel, name, metrics, recorder: audit.recorder, tracer },
        ...{ releases: decisions.releases.releases, insists: knowledge.insists },
        awayOf: (peels) => awayOf(knowledge, peels),
        ...{ publisher: reporter, timing: base.rolloutTiming ?? rolloutTiming, clock, random, jitter, log },
      });
      stack.defer(() => rollouts.stop());
      await catchUp("rollouts", rollouts.ready, base);
      const binaries = await startBinaries({
        ...{ bus, name, requests: requests.requests, gate: gate.gate, jobs: storage.jobs, controller },
        ...{ budgets: base.budgets, clock, jitter, log },
      });
      stack.defer(() => binaries.stop());
      const refusals = publishRefusals({ bus, clock, log });
      stack.defer(() => refusals.stop());
      const stage = createStateStage({
        ...{ level: config["states.check"], saltCompat: config["states.salt_compat"] },
        ...{ onRefused: refusals.report, kinds: knowledge.settings.kinds, clock, log },
        isReleased: (environment, snapshot) =>
          need.decisions.releases.releases.newest(environment)?.release.snapshot === snapshot,
      });
      const named = () =>
        namedSnapshots({
          ...{ approvals: () => gate.later.approvals, rollouts: rollouts.start },
          ...{ jobs: controller, releases: need.decisions.releases.releases, log },
        });
      const stateFiles = startStateFiles({ ...stateFilesOptions(need, binaries.cache), stage, named });
      stack.defer(() => stateFiles.stop());
      gate.later.files = stateFiles;
      // The lease that every fleet has: the one of the reactor has a holder only where there is a reactor.
      const isTurn = () => stateFiles.lease.tenure !== undefined;
      const eventRoom = makeRoomForEvents({ bus, isTurn, metrics, lines, clock, log });
      stack.defer(() => eventRoom.stop());
      const guard = guardAssets(guardOptions(need, isTurn));
      stack.defer(() => guard.stop());
      const reactor = startMasterReactor({
        ...{ config, bus, storage, dispatch, keyring, requests: requests.requests },
        directory: need.members.directory,
        ...{ name, metrics, gate: gate.gate, budgets: base.budgets, tracer, clock, jitter, log },
      });
      stack.defer(() => reactor?.stop());
      const leases = [knowledge.settings.lease, stateFiles.lease, ...(reactor ? [reactor.lease] : [])];
      return {
        rollouts,
        stateFiles,
        isTurn,
        /** The rules of the reactor that are in force here. */
        reactorRules: () => reactor?.rules() ?? [],
        reacting: () => reactor?.reacting(),
        checks: defined({ gitfs: stateFiles.check, states: stateFiles.statesCheck, reactor: reactor?.check }),
        view: {
          rollouts: rollouts.view,
          gitRefused: stateFiles.refused,
          ...defined({ reactor: reactor?.view }),
          leases: () => Object.fromEntries(leases.map(({ name, tenure }) => [name, tenure !== undefined])),
        },
      };
    }),
};

export type Automation = OffersOf<typeof automation>;

function guardOptions(
  { base, connection, opened, decisions, members }: AutomationNeed,
  isTurn: () => boolean,
): Parameters<typeof guardAssets>[0] {
  const { config, metrics, clock, log } = base;
  const { directory } = members;
  return {
    ...{ bus: connection.bus, isTurn, provision: opened.provision, metrics, clock, log },
    auditRetentionMs: config["audit.retention"],
    isWhole: () => decisions.decisions.isWhole,
    isPeel: (peel) => directory.stateOf(peel) !== undefined,
    jobs: decisions.storage.jobs,
  };
}

/** What operators released. A change of their records may change what counts. */
function countingReleases({ decisions, operators }: AutomationNeed): StateFilesOptions["releases"] {
  const { releases } = decisions.releases;
  return {
    async caughtUp() {
      await operators.registry.caughtUp();
      await releases.caughtUp();
    },
    newest: (environment) => releases.newest(environment)?.release,
    onChange(run) {
      const forget = [releases.onChange(run), operators.registry.onChange(run)];
      return () => {
        for (const one of forget) one();
      };
    },
  };
}

function stateFilesOptions(
  need: AutomationNeed,
  binaries: StateFilesOptions["binaries"],
): Omit<StateFilesOptions, "stage" | "named"> {
  const { base, connection, decisions, members, peelDoor, knowledge } = need;
  const { config, env, keyring, name, clock, jitter, log, signal } = base;
  const { budgets, lines } = peelDoor;
  return {
    ...{ bus: connection.bus, peelDoor: peelDoor.requests, leases: decisions.storage.leases, keyring },
    ...{ members: members.directory.members, binaries, budgets, lines },
    statesDir: config.states_dir,
    releases: countingReleases(need),
    requiresRelease: config["states.require_release"],
    onSettings: knowledge.settings.onFiles,
    git: {
      remotes: config["gitfs.remotes"].map((remote) => ({
        base: config["gitfs.base"],
        environments: config["gitfs.environments"],
        tags: config["gitfs.tags"],
        ...remote,
      })),
      intervalMs: config["gitfs.interval"],
      sshKey: config["gitfs.ssh_key"],
      maxBytes: config["gitfs.max_bytes"],
      maxEnvironments: config["gitfs.max_environments"],
      // This executable, whose hidden command keeps the time of a commit from counting.
      sshProgram: process.execPath,
    },
    statesOf: (master) => requestMasterCheck(connection.bus, master, "states"),
    gitDir: join(dataDir(env), "gitfs"),
    ...{ name, clock, jitter, log, signal },
  };
}

async function awayOf({ index, isConnected }: Knowledge, peels: readonly string[]): Promise<string[]> {
  // It only warns: where heartbeats cannot be read, what is known counts.
  await index.caughtUp({ facts: false, heartbeats: true }).catch(() => {});
  return peels.filter((peel) => !isConnected(peel));
}
