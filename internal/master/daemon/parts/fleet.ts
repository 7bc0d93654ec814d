import { join } from "node:path";
import { encodePeelsAccount } from "../../../bus/accounts/mod.ts";
import {
  createDirectory,
  createDisconnections,
  createEnforcer,
  createRevocations,
  dropOldPending,
  repairOrphans,
} from "../../../fleet/enrollment/mod.ts";
import { createResolver, followNodeGroups } from "../../../fleet/targeting/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { startBudgets } from "../budgets.ts";
import type { MasterDeps } from "../options.ts";
import { startSettings } from "../settings.ts";
import { startTargeting } from "../targeting.ts";
import { catchUp } from "./catch-up.ts";
import type { Connected } from "./connect.ts";
import type { Stored } from "./storage.ts";

/** The members of the fleet, their facts, the resolution of targets, and their settings. */
export const fleet = {
  start: (deps: MasterDeps & Connected & Stored) =>
    assemble(async (stack) => {
      const { config, bus, storage, system, keys, metrics, clock, log, signal } = deps;
      const { enrollments } = storage;
      const directory = createDirectory({ enrollments, log });
      stack.defer(() => directory.stop());
      await catchUp("enrollments", directory.ready, deps);
      const repairing = repairOrphans({ enrollments, directory, clock, log });
      stack.defer(() => repairing.stop());
      const ttlMs = config["enroll.pending_ttl"];
      const dropping = dropOldPending({ enrollments, directory, ttlMs, clock, log });
      stack.defer(() => dropping.stop());

      const revocations = createRevocations({ bucket: storage.revocations, log });
      stack.defer(() => revocations.stop());
      const account = keys.account.publicKey;
      const enforcer = createEnforcer({
        revocations,
        system,
        account,
        encodeAccount: (list, issuedAt) =>
          encodePeelsAccount({
            account,
            masters: keys.mastersAccount,
            revocations: list,
            issuedAt,
            signer: keys.operatorSigning,
          }),
        clock,
        log,
      });
      const reconciling = enforcer.start();
      stack.defer(() => reconciling.stop());
      const disconnections = createDisconnections(system, account, clock);
      stack.defer(() => disconnections.stop());

      const budgeted = startBudgets({
        ...{ config, bus, system, account, directory, enrollments, revocations, metrics, clock, log },
        enforce: { enforcer, disconnections, metrics, clock, log },
      });
      stack.defer(() => budgeted.stop());
      const { budgets, lines, suspension } = budgeted;

      const targeting = await startTargeting({ storage, directory, budgets, clock, log, signal });
      stack.defer(() => targeting.stop());
      const { index, alive } = targeting;
      const path = config.settings_dir;
      const strictFacts = config["settings.strict_facts"];
      const command = keys.command;
      const settings = startSettings({ ...deps, directory, index, path, strictFacts, command });
      stack.defer(() => settings.stop());
      const resolver = createResolver({
        directory,
        index,
        facts: storage.facts,
        heartbeats: storage.peelHeartbeats,
        groups: followNodeGroups(join(path, "nodegroups.yaml"), log),
        settings: settings.view.load,
        clock,
        log,
      });
      return {
        directory,
        revocations,
        enforcer,
        disconnections,
        budgets,
        lines,
        suspension,
        index,
        alive,
        settings,
        resolver,
        targetCheck: targeting.check,
        checks: { settings: settings.check },
        view: {
          enrollments: () => directory.countByState(),
          peelsSuspended: () => directory.countSuspended(),
          credentials: () => directory.credentials(clock.now()),
          peelsAlive: () => (index.running ? directory.members().filter(index.alive).length : undefined),
        },
      };
    }),
};

export type Fleet = OffersOf<typeof fleet>;
