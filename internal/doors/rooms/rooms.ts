import { approvalOperations } from "../../fleet/approvals/mod.ts";
import { auditOperations } from "../../fleet/audit/mod.ts";
import { binaryOperations } from "../../fleet/binaries/mod.ts";
import { bootstrapOperations } from "../../fleet/bootstrap/mod.ts";
import { clusterOperations } from "../../fleet/cluster/mod.ts";
import { stateOperations } from "../../fleet/compliance/mod.ts";
import { decisionOperations } from "../../fleet/decisions/mod.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { eventOperations } from "../../fleet/events/mod.ts";
import { expectedOperations } from "../../fleet/expected/mod.ts";
import { exportOperations } from "../../fleet/exports/mod.ts";
import { jobOperations } from "../../fleet/jobs/mod.ts";
import { joinTokenOperations } from "../../fleet/join-tokens/mod.ts";
import { keyOperations } from "../../fleet/keys/mod.ts";
import { masterOperations } from "../../fleet/masters/mod.ts";
import type { DepsOf } from "../../fleet/operation/door-table/mod.ts";
import { operatorOperations } from "../../fleet/operators/mod.ts";
import { peelOperations } from "../../fleet/peels/mod.ts";
import { planOperations } from "../../fleet/plans/mod.ts";
import { policyOperations } from "../../fleet/policy/mod.ts";
import { reachedReactor, reactorOperations } from "../../fleet/reactor/mod.ts";
import { releaseOperations } from "../../fleet/releases/mod.ts";
import { roleOperations } from "../../fleet/roles/mod.ts";
import { rolloutOperations } from "../../fleet/rollout/mod.ts";
import { sampleOperations } from "../../fleet/samples/mod.ts";
import { sessionOperations } from "../../fleet/sessions/mod.ts";
import { settingOperations } from "../../fleet/settings/mod.ts";
import { siteOperations } from "../../fleet/sites/mod.ts";
import { targetOperations } from "../../fleet/targeting/mod.ts";
import { tokenOperations } from "../../fleet/tokens/mod.ts";

/** The operations of every room with their doors, in the order of the description of the REST interface. */
export const rooms = {
  enrollment: enrollmentOperations,
  bootstrap: bootstrapOperations,
  joinTokens: joinTokenOperations,
  expected: expectedOperations,
  policy: policyOperations,
  peels: peelOperations,
  states: stateOperations,
  releases: releaseOperations,
  plans: planOperations,
  settings: settingOperations,
  exports: exportOperations,
  cluster: clusterOperations,
  sites: siteOperations,
  targets: targetOperations,
  jobs: jobOperations,
  rollouts: rolloutOperations,
  tokens: tokenOperations,
  sessions: sessionOperations,
  operators: operatorOperations,
  roles: roleOperations,
  approvals: approvalOperations,
  audit: auditOperations,
  events: eventOperations,
  masters: masterOperations,
  samples: sampleOperations,
  keys: keyOperations,
  decisions: decisionOperations,
  binaries: binaryOperations,
  reactor: reactorOperations,
};

/** The same as every master serves them over REST: the reactor is reached from each of them. */
export const restRooms = { ...rooms, reactor: reachedReactor };

/** What each master needs to serve the rooms. */
export type RoomDeps = { [Name in keyof typeof restRooms]: DepsOf<(typeof restRooms)[Name]> };

/** Each of these tables whose room has what it needs, with that. */
export function served(
  tables: Readonly<Record<keyof RoomDeps, object>>,
  deps: Partial<RoomDeps>,
): [table: object, deps: unknown][] {
  const given: Readonly<Record<string, unknown>> = deps;
  return Object.entries(tables).flatMap(([name, table]) =>
    Object.hasOwn(given, name) ? [[table, given[name]]] : [],
  );
}
