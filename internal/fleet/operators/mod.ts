export { operatorOperations } from "./joined.ts";
export { createAccountReconciler } from "./maintain-account.ts";
export { mintOperator } from "./mint.ts";
export type { OperatorDeps } from "./operations.ts";
export { createRecordJudge } from "./record-judge.ts";
export { createRegistry, type Registry } from "./registry.ts";
export { createOperatorRevocations } from "./revocations.ts";
export { followStatements } from "./statements.ts";
export { createUnsignedRequesters } from "./unsigned.ts";
