import { join } from "node:path";
import { abortable } from "../../../base/abortable.ts";
import { sleep } from "../../../base/clock.ts";
import { openBucket } from "../../../bus/storage/mod.ts";
import {
  createNewConnections,
  createPace,
  createResolver,
  followNodeGroups,
} from "../../../fleet/targeting/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { followAccountRotation, followRotation } from "../../keys/mod.ts";
import { startCompliance } from "../compliance.ts";
import type { MasterDeps } from "../options.ts";
import { startSettings } from "../settings.ts";
import { startTargeting } from "../targeting.ts";
import type { Claims } from "./claims.ts";
import type { Connected } from "./connect.ts";
import type { Decisions } from "./decisions.ts";
import type { Members } from "./members.ts";
import type { PeelDoor } from "./peel-door.ts";
import type { SitesPart } from "./sites.ts";

interface KnowledgeNeed {
  base: MasterDeps;
  connection: Connected;
  decisions: Decisions;
  sites: SitesPart;
  members: Members;
  claims: Claims;
  peelDoor: PeelDoor;
}

/** What masters know of peels: facts, state runs, confirmed keys, settings, and the targets that follow from them. */
export const knowledge = {
  start: ({ base, connection, decisions, sites: { others }, members, claims, peelDoor }: KnowledgeNeed) =>
    assemble(async (stack) => {
      const { config, keyring, accountKeys, clock, log, signal } = base;
      const { bus, peelBus } = connection;
      const { storage } = decisions;
      const { directory } = members;
      const { budgets, lines } = peelDoor;
      const { account, enforcer, proven } = claims;
      // Peels write these two themselves.
      const watched = {
        enrollments: storage.enrollments,
        facts: await openBucket(peelBus, "facts"),
        peelHeartbeats: await openBucket(peelBus, "peel-heartbeat"),
      };
      const targeting = await startTargeting({ storage: watched, directory, budgets, clock, log, signal });
      stack.defer(() => targeting.stop());
      const { index, alive, beats } = targeting;
      const { siteOf, insists, onInstance } = beats;
      const connections = createNewConnections(clock);
      // A peel that was killed says no goodbye. The name in the JWT, which a master signed.
      stack.defer(
        proven.followConnections(account, {
          began: connections.began,
          ended(connection) {
            connections.ended(connection);
            index.doubt(connection.name);
          },
          unsure: () => {},
        }),
      );
      const runs = await startCompliance({
        ...{ peelBus, members: directory.members, budgets, lines, clock, log, signal },
      });
      stack.defer(() => runs.stop());
      const accountRotation = followAccountRotation({
        ...{ keys: accountKeys, others, enforcer, secrets: storage.secrets, clock, log },
      });
      stack.defer(() => accountRotation.stop());
      await abortable(accountRotation.ready, signal);
      const rotation = followRotation({ keyring, bus, index, members: directory.members, others, clock });
      stack.defer(() => rotation.stop());
      await abortable(rotation.ready, signal);
      const settings = startSettings({
        ...{ ...base, bus, storage, directory, index },
        path: config.settings_dir,
        strictFacts: config["settings.strict_facts"],
        level: config["states.check"],
      });
      stack.defer(() => settings.stop());
      await abortable(settings.ready, signal);
      const resolver = createResolver({
        ...{ directory, index, facts: storage.facts, heartbeats: storage.peelHeartbeats, log },
        pace: createPace({ rest: (ms) => sleep(clock, ms) }),
        groups: followNodeGroups(join(config.settings_dir, "nodegroups.yaml"), log),
        settings: settings.view.load,
      });
      const countAlive = () => (index.running ? directory.members().filter(index.alive).length : undefined);
      return {
        ...{
          index,
          alive,
          /** Whether a peel gets now what is sent to it. */
          isConnected: (peel: string) => alive(peel) || connections.has(peel),
          siteOf,
          insists,
          onInstance,
          compliance: runs.compliance,
          settings,
          rotation,
          resolver,
        },
        counted: { alive: countAlive, runs: runs.counts },
        reportKeys: () => ({ ...accountRotation.report(), ...rotation.report() }),
        ...{ targetCheck: targeting.check, lacksFacts: targeting.lacksFacts },
        checks: { settings: settings.check },
        view: { compliance: runs.counts, peelsAlive: countAlive },
      };
    }),
};

export type Knowledge = OffersOf<typeof knowledge>;
