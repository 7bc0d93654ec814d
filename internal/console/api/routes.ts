import { approvalDoors } from "../../fleet/approvals/doors.ts";
import type { approvalOperations } from "../../fleet/approvals/mod.ts";
import { auditDoors } from "../../fleet/audit/doors.ts";
import type { auditOperations } from "../../fleet/audit/mod.ts";
import { bootstrapDoors } from "../../fleet/bootstrap/doors.ts";
import type { bootstrapOperations } from "../../fleet/bootstrap/mod.ts";
import { clusterDoors } from "../../fleet/cluster/doors.ts";
import type { clusterOperations } from "../../fleet/cluster/mod.ts";
import { stateDoors } from "../../fleet/compliance/doors.ts";
import type { stateOperations } from "../../fleet/compliance/mod.ts";
import { enrollmentDoors } from "../../fleet/enrollment/doors.ts";
import type { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { jobDoors } from "../../fleet/jobs/doors.ts";
import type { jobOperations } from "../../fleet/jobs/mod.ts";
import { masterDoors } from "../../fleet/masters/doors.ts";
import type { masterOperations } from "../../fleet/masters/mod.ts";
import { operatorDoors } from "../../fleet/operators/doors.ts";
import type { operatorOperations } from "../../fleet/operators/mod.ts";
import { peelDoors } from "../../fleet/peels/doors.ts";
import type { peelOperations } from "../../fleet/peels/mod.ts";
import { reactorDoors } from "../../fleet/reactor/doors.ts";
import type { reactorOperations } from "../../fleet/reactor/mod.ts";
import { releaseDoors } from "../../fleet/releases/doors.ts";
import type { releaseOperations } from "../../fleet/releases/mod.ts";
import { roleDoors } from "../../fleet/roles/doors.ts";
import type { roleOperations } from "../../fleet/roles/mod.ts";
import { rolloutDoors } from "../../fleet/rollout/doors.ts";
import type { rolloutOperations } from "../../fleet/rollout/mod.ts";
import { sampleDoors } from "../../fleet/samples/doors.ts";
import type { sampleOperations } from "../../fleet/samples/mod.ts";
import { settingDoors } from "../../fleet/settings/doors.ts";
import type { settingOperations } from "../../fleet/settings/mod.ts";
import { targetDoors } from "../../fleet/targeting/doors.ts";
import type { targetOperations } from "../../fleet/targeting/mod.ts";
import { tokenDoors } from "../../fleet/tokens/doors.ts";
import type { tokenOperations } from "../../fleet/tokens/mod.ts";
import { routesOf } from "./route.ts";

/** The routes of the rooms that the console uses, with the types of their operations: a change of one does not compile here. */
export const routes = {
  ...routesOf<typeof approvalOperations>(approvalDoors),
  ...routesOf<typeof auditOperations>(auditDoors),
  ...routesOf<typeof bootstrapOperations>(bootstrapDoors),
  ...routesOf<typeof clusterOperations>(clusterDoors),
  ...routesOf<typeof stateOperations>(stateDoors),
  ...routesOf<typeof enrollmentOperations>(enrollmentDoors),
  ...routesOf<typeof jobOperations>(jobDoors),
  ...routesOf<typeof masterOperations>(masterDoors),
  ...routesOf<typeof operatorOperations>(operatorDoors),
  ...routesOf<typeof peelOperations>(peelDoors),
  ...routesOf<typeof reactorOperations>(reactorDoors),
  ...routesOf<typeof releaseOperations>(releaseDoors),
  ...routesOf<typeof roleOperations>(roleDoors),
  ...routesOf<typeof rolloutOperations>(rolloutDoors),
  ...routesOf<typeof sampleOperations>(sampleDoors),
  ...routesOf<typeof settingOperations>(settingDoors),
  ...routesOf<typeof targetOperations>(targetDoors),
  ...routesOf<typeof tokenOperations>(tokenDoors),
};
