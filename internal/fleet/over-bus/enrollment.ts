import { type AdminAction, adminQueue, adminSubject } from "../../bus/mod.ts";
import {
  approveEnrollment,
  clearClone,
  discardEnrollment,
  labelEnrollment,
  listEnrollments,
  listStrays,
  type OperatorEnrollmentDeps,
  rejectEnrollment,
  restoreEnrollment,
  resumeEnrollment,
  revokeEnrollment,
  revokeUserOfBus,
  showEnrollment,
  suspendEnrollment,
} from "../enrollment/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

// Each request goes to one master. A request has the same fields for all decisions, so those that one does not use are ignored.

const at = (action: AdminAction) => ({ subject: adminSubject(action), queue: adminQueue });

export const enrollmentsOverBus = {
  approve: overBus({ operation: approveEnrollment, ...at("approve"), ignored: ["reason"] }),
  reject: overBus({ operation: rejectEnrollment, ...at("reject"), ignored: ["force"] }),
  revoke: overBus({ operation: revokeEnrollment, ...at("revoke"), ignored: ["force"] }),
  suspend: overBus({ operation: suspendEnrollment, ...at("suspend") }),
  resume: overBus({ operation: resumeEnrollment, ...at("resume") }),
  label: overBus({ operation: labelEnrollment, ...at("label") }),
  clearClone: overBus({ operation: clearClone, ...at("clear-clone") }),
  revokeUser: overBus({ operation: revokeUserOfBus, ...at("revoke-user") }),
  list: overBus({ operation: listEnrollments, ...at("list"), page: { usual: 500, max: 1_000 } }),
  show: overBus({ operation: showEnrollment, ...at("show") }),
  strays: overBus({ operation: listStrays, ...at("strays") }),
  restore: overBus({ operation: restoreEnrollment, ...at("restore") }),
  discard: overBus({ operation: discardEnrollment, ...at("discard") }),
};

export function serveEnrollments(door: BusDoor, deps: OperatorEnrollmentDeps): void {
  serve(door, enrollmentsOverBus.approve, deps);
  serve(door, enrollmentsOverBus.reject, deps);
  serve(door, enrollmentsOverBus.revoke, deps);
  serve(door, enrollmentsOverBus.suspend, deps);
  serve(door, enrollmentsOverBus.resume, deps);
  serve(door, enrollmentsOverBus.label, deps);
  serve(door, enrollmentsOverBus.clearClone, deps);
  serve(door, enrollmentsOverBus.revokeUser, deps);
  serve(door, enrollmentsOverBus.list, deps);
  serve(door, enrollmentsOverBus.show, deps);
  serve(door, enrollmentsOverBus.strays, deps);
  serve(door, enrollmentsOverBus.restore, deps);
  serve(door, enrollmentsOverBus.discard, deps);
}
