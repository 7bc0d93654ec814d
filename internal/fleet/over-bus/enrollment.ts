import { type AdminAction, adminQueue, adminSubject } from "../../bus/mod.ts";
import {
  approveEnrollment,
  type OperatorEnrollmentDeps,
  rejectEnrollment,
  revokeEnrollment,
  revokeUserOfBus,
} from "../enrollment/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

// Of all masters one takes each request. Older clients send the fields of all decisions with each of them.

const at = (action: AdminAction) => ({ subject: adminSubject(action), queue: adminQueue });

export const enrollmentsOverBus = {
  approve: overBus({ operation: approveEnrollment, ...at("approve"), ignored: ["reason"] }),
  reject: overBus({ operation: rejectEnrollment, ...at("reject"), ignored: ["force"] }),
  revoke: overBus({ operation: revokeEnrollment, ...at("revoke"), ignored: ["force"] }),
  revokeUser: overBus({ operation: revokeUserOfBus, ...at("revoke-user") }),
};

export function serveEnrollments(door: BusDoor, deps: OperatorEnrollmentDeps): void {
  serve(door, enrollmentsOverBus.approve, deps);
  serve(door, enrollmentsOverBus.reject, deps);
  serve(door, enrollmentsOverBus.revoke, deps);
  serve(door, enrollmentsOverBus.revokeUser, deps);
}
