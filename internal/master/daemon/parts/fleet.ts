import { join } from "node:path";
import { encodePeelsAccount } from "../../../bus/accounts/mod.ts";
import {
  createDirectory,
  createDisconnections,
  createEnforcer,
  createRevocations,
  refuseStrays,
  repairOrphans,
} from "../../../fleet/enrollment/mod.ts";
import { createResolver, followNodeGroups } from "../../../fleet/targeting/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import { startSettings } from "../settings.ts";
import { startTargeting } from "../targeting.ts";
import { catchUp } from "./catch-up.ts";
import type { Connected } from "./connect.ts";
import type { Decisions } from "./decisions.ts";
import type { Stored } from "./storage.ts";

/** Who belongs to the fleet, what is known of it, how targets are found in it, and its settings. */
export const fleet = {
  start: (deps: MasterDeps & Connected & Stored & Decisions) =>
    assemble(async (stack) => {
      const { config, storage, system, keys, clock, log, signal } = deps;
      const { enrollments } = storage;
      const directory = createDirectory({ enrollments, log });
      stack.defer(() => directory.stop());
      await catchUp("enrollments", directory.ready, deps);
      const repairing = repairOrphans({ enrollments, directory, clock, log });
      stack.defer(() => repairing.stop());

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

      const strays = refuseStrays({
        ...{ system, account, directory, revocations, enforcer, clock, log },
        isWhole: () => deps.decisions.isWhole,
        onReconnect: deps.bus.onReconnect,
      });
      stack.defer(() => strays.stop());

      const targeting = await startTargeting({ storage, directory, clock, log, signal });
      stack.defer(() => targeting.stop());
      const { index, alive } = targeting;
      const path = config.settings_dir;
      const settings = startSettings({ ...deps, directory, index, path, command: keys.command });
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
        index,
        alive,
        settings,
        resolver,
        targetCheck: targeting.check,
        checks: { settings: settings.check },
        view: {
          enrollments: () => directory.countByState(),
          strays: () => strays.count,
          credentials: () => directory.credentials(clock.now()),
          peelsAlive: () => (index.running ? directory.members().filter(index.alive).length : undefined),
        },
      };
    }),
};

export type Fleet = OffersOf<typeof fleet>;
