import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import {
  compileRegexes,
  createRegexes,
  expandGroups,
  type FactMap,
  matchersOf,
  readTarget,
  usesRegexes,
} from "../../tree/targets/mod.ts";
import { type Fleet, scanFleet, type Wanted } from "./fleet.ts";
import type { FleetIndex } from "./fleet-index.ts";
import type { NodeGroups } from "./node-groups.ts";
import type { Pace } from "./pace.ts";
import { resolveExpression, resolveList, type Target } from "./resolve.ts";

/** Resolves targets to the peels that currently match. */
export interface Resolver {
  /**
   * @returns sorted encoded peel ids of members
   * @throws SvcError `bad_request` for an invalid target, `unavailable` when the members or what selects them are not
   *   read completely, or when it names a node group and the groups cannot be read, `storage` when the bus cannot
   *   be read
   */
  resolve(target: Target): Promise<string[]>;
  /** The same, with the peels that are alive. */
  resolveWithLife(target: Target): Promise<{ peelId: string; alive: boolean }[]>;
}

export interface ResolverDeps {
  /** Members of the fleet; complete when `caughtUp` has resolved. */
  directory: {
    members(): readonly string[];
    caughtUp(): Promise<void>;
    /** What the fleet says of a peel, by name. */
    labelsOf(peelId: string): Readonly<Record<string, string>> | undefined;
  };
  index: Omit<FleetIndex, "onFacts" | "onBeat" | "factsOf" | "factsStoredAt" | "lifeOf" | "doubt">;
  /** Read only while the index is not running. */
  facts: Bucket;
  heartbeats: Bucket;
  groups: NodeGroups;
  /** Settings by encoded peel id, compiled by this master. @throws SvcError `unavailable` */
  settings(): Promise<ReadonlyMap<string, FactMap>>;
  /** Keeps costly targets from everything else. */
  pace: Pace;
  log: Log;
}

export function createResolver(deps: ResolverDeps): Resolver {
  const { directory, index, groups, pace, log } = deps;
  const regexes = createRegexes();

  const fleetFor = async (wanted: Wanted): Promise<Fleet> => {
    if (index.running) {
      // They are different buckets, and both are read at once.
      await Promise.all([directory.caughtUp(), index.caughtUp(wanted)]);
      return index;
    }
    await directory.caughtUp();
    if (wanted.facts || wanted.heartbeats) {
      log.warn("the fleet index is not running: a target is resolved by reading the buckets", { ...wanted });
    }
    const { facts, heartbeats } = deps;
    return scanFleet({ members: directory.members, facts, heartbeats, wanted });
  };

  const resolveOver = async (
    target: Target,
    heartbeats: boolean,
  ): Promise<{ fleet: Fleet; peels: string[] }> => {
    if ("peels" in target) {
      const fleet = await fleetFor({ facts: false, heartbeats });
      return { fleet, peels: resolveList(target.peels, fleet.members()) };
    }
    const parsed = readTarget(target.expression);
    const expression = expandGroups(parsed, usesGroups(parsed) ? groups.current() : new Map());
    if (usesRegexes(expression)) await pace.run(() => compileRegexes(expression, "target", regexes));
    const kinds = new Set([...matchersOf(expression)].map(({ kind }) => kind));
    const found = await fleetFor({ facts: kinds.has("fact"), heartbeats });
    const labelled = kinds.has("label") ? withLabels(found, directory.labelsOf) : found;
    const fleet = kinds.has("setting") ? withSettings(labelled, await deps.settings()) : labelled;
    return {
      fleet,
      peels: await pace.run((meter) => resolveExpression(expression, fleet, { regexes, meter })),
    };
  };

  return {
    resolve: async (target) => (await resolveOver(target, false)).peels,
    async resolveWithLife(target) {
      const { fleet, peels } = await resolveOver(target, true);
      return peels.map((peelId) => ({ peelId, alive: fleet.alive(peelId) }));
    },
  };
}

/** Adds settings to the members; newer members have none yet. */
function withSettings(fleet: Fleet, settings: ReadonlyMap<string, FactMap>): Fleet {
  return {
    members: fleet.members,
    peels: () => fleet.peels().map((peel) => ({ ...peel, settings: settings.get(peel.id) })),
    hasSettings: true,
    alive: fleet.alive,
  };
}

function withLabels(fleet: Fleet, labelsOf: ResolverDeps["directory"]["labelsOf"]): Fleet {
  const { members, hasSettings, alive } = fleet;
  const peels = () => fleet.peels().map(({ id, facts }) => ({ id, facts, labels: labelsOf(id) }));
  return { members, peels, hasSettings, alive };
}

function usesGroups(expression: ReturnType<typeof readTarget>): boolean {
  for (const { kind } of matchersOf(expression)) if (kind === "group") return true;
  return false;
}
