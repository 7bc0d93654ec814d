export { type Approvals, createApprovals } from "./approvals.ts";
export type { CompareFiles } from "./changes.ts";
export { approvalOperations } from "./joined.ts";
export type { ApprovalDeps } from "./operations.ts";
export type { Approval, Party } from "./record.ts";
export { createStarters, mayWait, type Starters } from "./starters.ts";
export { followApprovals } from "./view.ts";
