import { join } from "node:path";
import { abortable } from "../../../base/abortable.ts";
import { encodePeelsAccount } from "../../../bus/accounts/mod.ts";
import { isClustered, openBucket } from "../../../bus/mod.ts";
import { fromPeels, passOnProgress, relayToStorage } from "../../../doors/peels/mod.ts";
import { startBudgets } from "../../../fleet/budget/mod.ts";
import {
  createDirectory,
  createDisconnections,
  createEnforcer,
  createRevocations,
  createTakeOver,
  dropOldPending,
  endRefused,
  provenConnections,
  refuseStrays,
  repairOrphans,
  signerOfDirect,
} from "../../../fleet/enrollment/mod.ts";
import { comeBackMs } from "../../../fleet/peels/mod.ts";
import { tellSuspended } from "../../../fleet/reactor/mod.ts";
import { judgeOrigins } from "../../../fleet/sites/mod.ts";
import { createResolver, followNodeGroups } from "../../../fleet/targeting/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { adminRole } from "../../../wire/operator-standing.ts";
import { followAccountRotation, followRotation } from "../../keys/mod.ts";
import { startCompliance } from "../compliance.ts";
import type { MasterDeps } from "../options.ts";
import { startSettings } from "../settings.ts";
import { startTargeting } from "../targeting.ts";
import type { Audited } from "./audit.ts";
import { catchUp, untilWhole } from "./catch-up.ts";
import type { SoundClock } from "./clock.ts";
import type { Connected } from "./connect.ts";
import type { Decisions } from "./decisions.ts";
import type { Operators } from "./operators.ts";
import type { SitesPart } from "./sites.ts";
import type { Stored } from "./storage.ts";

/** The members of the fleet, their facts, the resolution of targets, and their settings. */
export const fleet = {
  start: (deps: MasterDeps & Connected & Stored & SoundClock & Audited & Operators & Decisions & SitesPart) =>
    assemble(async (stack) => {
      const { config, bus, peelBus, storage, system, keys, vouchers, metrics } = deps;
      const { clock, log, signal } = deps;
      const { enrollments, secrets } = storage;
      const mayPrune = () => deps.sound.check().status !== "down";
      const revocations = createRevocations({ bucket: storage.revocations, log });
      stack.defer(() => revocations.stop());
      const { registry, recorder } = deps;
      deps.directs.judge = (record) => {
        const signer = signerOfDirect(record);
        if (signer === undefined) return false;
        const judged = registry.judge(signer.operator, signer.key, clock.now());
        return "operator" in judged && judged.operator.roles.includes(adminRole);
      };
      const takeOver = createTakeOver({
        ...{ enrollments, revocations, vouchers, log },
        begin: ({ action, enrollment, peel, operator, key, digest }) =>
          recorder.begin({
            ...{ operator, key, via: "direct", action, subjects: { enrollment, peel } },
            ...{ requestId: "", requestDigest: digest },
          }),
      });
      const directory = createDirectory({ enrollments, log, onDirect: takeOver.consider });
      stack.defer(() => directory.stop());
      await catchUp("enrollments", untilWhole(directory, deps), deps);
      // What was decided while no master ran counts before peels and operators ask.
      await abortable(takeOver.settled(), signal);
      const repairing = repairOrphans({ enrollments, directory, clock, log });
      stack.defer(() => repairing.stop());
      const ttlMs = config["enroll.pending_ttl"];
      const dropping = dropOldPending({ enrollments, directory, ttlMs, mayPrune, clock, log });
      stack.defer(() => dropping.stop());

      const account = keys.account.publicKey;
      // What the storage captures cannot cross the link of a site by itself.
      const relayed = () => isClustered(bus) || deps.sites.open().length > 0;
      const refused = endRefused({ system, account, revocations, clock });
      stack.defer(revocations.onEntry(refused.revoked));
      const enforcer = createEnforcer({
        ended: refused.ended,
        revocations,
        system,
        account,
        signingKeys: () => deps.accountKeys,
        encodeAccount: (list, issuedAt, signingKeys) =>
          encodePeelsAccount({
            account,
            masters: keys.mastersAccount,
            revocations: list,
            issuedAt,
            signingKeys,
            relayed: relayed(),
            signer: keys.operatorSigning,
          }),
        mayPrune,
        clock,
        log,
      });
      stack.defer(deps.sites.onChange(() => void enforcer.enforce().catch(() => {})));
      const reconciling = enforcer.start();
      stack.defer(() => reconciling.stop());
      const reported = provenConnections({
        ...{ system, account, directory, clock },
        hasSites: () => deps.sites.open().length > 0,
        issuers: () => [account, ...deps.accountKeys.publicKeys],
      });
      stack.defer(() => reported.stop());
      const { followConnections } = reported;
      const disconnections = createDisconnections(reported, account, clock);
      stack.defer(() => disconnections.stop());

      const budgeted = startBudgets({
        ...{ config, bus, peelBus, system: reported, account, directory, enrollments },
        ...{ revocations, metrics, clock, log },
        enforce: { enforcer, disconnections, metrics, clock, log },
        reportSuspended: (peelId, reason) => tellSuspended(bus, peelId, reason),
      });
      stack.defer(() => budgeted.stop());
      const { budgets, lines, suspension } = budgeted;
      const origins = judgeOrigins({
        sites: deps.sites,
        placeOf: directory.memberOf,
        ...{ metrics, clock, log },
      });
      stack.defer(() => origins.stop());
      const { admits } = origins;
      const peelDoor = fromPeels(peelBus, admits);
      const passingOn = passOnProgress(peelBus, admits);
      stack.defer(() => passingOn.stop());
      const relaying = relayToStorage({ bus: peelBus, admits, budgets, lines, metrics, clock });
      stack.defer(() => relaying.stop());

      const strays = refuseStrays({
        system: { ...system, followConnections },
        ...{ account, directory, revocations, enforcer, clock, log },
        connections: {
          ...refused,
          heard(connection) {
            if (!refused.heard(connection)) return;
            lines.say("warn", "a connection named another key than that of its credentials", connection.name);
          },
        },
        settleMs: () => 2 * comeBackMs(directory.members().length),
        isWhole: () => deps.decisions.isWhole,
      });
      stack.defer(() => strays.stop());

      // Peels write what these two report.
      const watched = {
        enrollments,
        facts: await openBucket(peelBus, "facts"),
        peelHeartbeats: await openBucket(peelBus, "peel-heartbeat"),
      };
      const targeting = await startTargeting({ storage: watched, directory, budgets, clock, log, signal });
      stack.defer(() => targeting.stop());
      const { index, alive } = targeting;
      // A peel that was killed says no goodbye. The name in the JWT, which a master signed.
      stack.defer(
        followConnections(account, {
          began: () => {},
          ended: ({ name }) => index.doubt(name),
          unsure: () => {},
        }),
      );
      const following = await startCompliance({
        ...{ peelBus, members: directory.members, budgets, lines, clock, log, signal },
      });
      stack.defer(() => following.stop());
      const { compliance } = following;
      const path = config.settings_dir;
      const strictFacts = config["settings.strict_facts"];
      const { others } = deps;
      const accountRotation = followAccountRotation({
        ...{ keys: deps.accountKeys, others, enforcer, secrets, clock, log },
      });
      stack.defer(() => accountRotation.stop());
      await abortable(accountRotation.ready, signal);
      const rotation = followRotation({
        ...{ keyring: deps.keyring, bus, index, members: directory.members },
        ...{ others, clock },
      });
      stack.defer(() => rotation.stop());
      await abortable(rotation.ready, signal);
      const { keyring } = deps;
      const settings = startSettings({ ...deps, directory, index, path, strictFacts, keyring });
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
        relayed,
        origins,
        peelDoor,
        budgets,
        lines,
        suspension,
        index,
        alive,
        compliance,
        settings,
        rotation,
        reportKeys: () => ({ ...accountRotation.report(), ...rotation.report() }),
        resolver,
        targetCheck: targeting.check,
        checks: { settings: settings.check, "site-peels": origins.check },
        view: {
          enrollments: () => directory.countByState(),
          peelsSuspended: () => directory.countSuspended(),
          strays: () => strays.count,
          tampered: () => directory.countTampered(),
          credentials: () => directory.credentials(clock.now()),
          compliance: following.counts,
          peelsAlive: () => (index.running ? directory.members().filter(index.alive).length : undefined),
        },
      };
    }),
};

export type Fleet = OffersOf<typeof fleet>;
