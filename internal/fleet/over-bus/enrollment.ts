import { type AdminAction, adminQueue, adminSubject } from "../../bus/mod.ts";
import {
  approveEnrollment,
  type OperatorEnrollmentDeps,
  rejectEnrollment,
  resumeEnrollment,
  revokeEnrollment,
  suspendEnrollment,
} from "../enrollment/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

// Each request goes to one master. Older clients send the fields of all decisions with each of them.

const at = (action: AdminAction) => ({ subject: adminSubject(action), queue: adminQueue });

export const enrollmentsOverBus = {
  approve: overBus({ operation: approveEnrollment, ...at("approve"), ignored: ["reason"] }),
  reject: overBus({ operation: rejectEnrollment, ...at("reject"), ignored: ["force"] }),
  revoke: overBus({ operation: revokeEnrollment, ...at("revoke"), ignored: ["force"] }),
  suspend: overBus({ operation: suspendEnrollment, ...at("suspend") }),
  resume: overBus({ operation: resumeEnrollment, ...at("resume") }),
};

export function serveEnrollments(door: BusDoor, deps: OperatorEnrollmentDeps): void {
  serve(door, enrollmentsOverBus.approve, deps);
  serve(door, enrollmentsOverBus.reject, deps);
  serve(door, enrollmentsOverBus.revoke, deps);
  serve(door, enrollmentsOverBus.suspend, deps);
  serve(door, enrollmentsOverBus.resume, deps);
}
