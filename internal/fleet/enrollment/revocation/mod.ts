export { createDisconnections } from "./disconnections.ts";
export { endRefused } from "./end-refused.ts";
export { createEnforcer } from "./enforce.ts";
export { watchExcessConnections } from "./excess-connections.ts";
export { maintainExports } from "./maintain-exports.ts";
export { provenConnections } from "./proven-connections.ts";
export {
  compareRevocations,
  createRevocations,
  decodeRevocation,
  isOver,
  type Revocation,
  type Revocations,
  readStrays,
  writeRevocation,
} from "./revocations.ts";
export { type EnforceRevocation, type RevokeDeps, revocationOf, revoke, revokeRecord } from "./revoke.ts";
export { type RevokeUserDeps, revokeUser } from "./revoke-user.ts";
export { refuseStrays } from "./strays.ts";
export { reportClone, type SuspectCloneDeps } from "./suspect-clone.ts";
export { disconnect, type ResumeRecordDeps, resume, type SuspensionEffects, suspend } from "./suspend.ts";
export { createTakeOver } from "./take-over.ts";
