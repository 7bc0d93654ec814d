export { type DeliverDeps, deliverCredentials } from "./deliver.ts";
export { readProof } from "./proof.ts";
export { type RecoverDeps, recover, recoverableUntil } from "./recover.ts";
export { readRecovery, recoverySchema } from "./recovery-request.ts";
export { type RenewDeps, rekey, renew } from "./renew.ts";
