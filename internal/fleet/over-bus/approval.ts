import { type ApprovalAction, adminQueue, approvalSubject } from "../../bus/mod.ts";
import {
  type ApprovalDeps,
  approveRequest,
  denyRequest,
  listApprovals,
  showApproval,
} from "../approvals/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: ApprovalAction) => ({ subject: approvalSubject(action), queue: adminQueue });

export const approvalsOverBus = {
  list: overBus({ operation: listApprovals, ...at("list") }),
  show: overBus({ operation: showApproval, ...at("show") }),
  approve: overBus({ operation: approveRequest, ...at("approve") }),
  deny: overBus({ operation: denyRequest, ...at("deny") }),
};

export function serveApprovals(door: BusDoor, deps: ApprovalDeps): void {
  serve(door, approvalsOverBus.list, deps);
  serve(door, approvalsOverBus.show, deps);
  serve(door, approvalsOverBus.approve, deps);
  serve(door, approvalsOverBus.deny, deps);
}
