export { approvalsPage } from "./approvals.tsx";
