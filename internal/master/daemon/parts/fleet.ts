import { join } from "node:path";
import { abortable } from "../../../base/abortable.ts";
import { sleep } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import { encodePeelsAccount } from "../../../bus/accounts/mod.ts";
import {
  createDirectory,
  createDisconnections,
  createEnforcer,
  createRevocations,
  createTakeOver,
  repairOrphans,
  startAdoption,
} from "../../../fleet/enrollment/mod.ts";
import { createResolver, followNodeGroups } from "../../../fleet/targeting/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
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
      const { config, storage, system, keys, recordMac, vouchers, clock, log, signal } = deps;
      const { enrollments, secrets } = storage;
      const adoption = { enrollments, vouchers, secrets, mac: recordMac, clock, log };
      const adopting = untilDone(() => startAdoption(adoption, config["enroll.adopt_unvouched"]), deps);
      const unvouchedUntil = await abortable(adopting, signal);
      const revocations = createRevocations({ bucket: storage.revocations, log });
      stack.defer(() => revocations.stop());
      const takeOver = createTakeOver({ enrollments, revocations, vouchers, log });
      const directory = createDirectory({ enrollments, log, unvouchedUntil, onDirect: takeOver.consider });
      stack.defer(() => directory.stop());
      await catchUp("enrollments", directory.ready, deps);
      const { UNVOUCHED: waiting } = directory.distrusted();
      if (waiting > 0) log.warn("enrollment records of an earlier version count for nothing", { waiting });
      // What was decided while no master ran counts before peels and operators ask.
      await abortable(takeOver.settled(), signal);
      const repairing = repairOrphans({ enrollments, directory, clock, log });
      stack.defer(() => repairing.stop());

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
        adoption,
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
          distrusted: () => directory.distrusted(),
          credentials: () => directory.credentials(clock.now()),
          peelsAlive: () => (index.running ? directory.members().filter(index.alive).length : undefined),
        },
      };
    }),
};

export type Fleet = OffersOf<typeof fleet>;

const retryMs = 2_000;

/** Does something with storage that a cluster which elects may refuse for a while. */
async function untilDone<T>(run: () => Promise<T>, deps: MasterDeps): Promise<T> {
  const { clock, log, signal } = deps;
  for (;;) {
    try {
      return await run();
    } catch (cause) {
      log.warn("storage is not ready", { error: describeError(cause), retry_in_ms: retryMs });
    }
    await sleep(clock, retryMs, signal);
  }
}
