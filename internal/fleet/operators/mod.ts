export { createAccountKeeper } from "./keep-account.ts";
export { mintOperator } from "./mint.ts";
export {
  type AdministratorsDeps,
  addOperator,
  adoptionStatus,
  disableOperator,
  enableOperator,
  listOperators,
  type OperatorDeps,
  removeOperator,
  renewOperator,
  replaceAdministrators,
  setRoles,
  showAdministrators,
  showOperator,
  whoAmI,
} from "./operations.ts";
export { createRegistry } from "./registry.ts";
export { createOperatorRevocations } from "./revocations.ts";
export { followStatements } from "./statements.ts";
export { createUnsignedAskers } from "./unsigned.ts";
