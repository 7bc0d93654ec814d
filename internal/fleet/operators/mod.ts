export { type Administrator, formatAdministrators, parseAdministrators } from "./administrators.ts";
export {
  decodeAdministrators,
  digestOfAdministrators,
  encodeAdministrators,
  isSameList,
  isSignedStatement,
  signAdministrators,
} from "./administrators-statement.ts";
export { adminRole, judgeOperator, type Standing } from "./judge.ts";
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
export {
  decodeOperator,
  encodeOperator,
  isOperatorName,
  isSignedOperator,
  type OperatorRecord,
  signOperator,
} from "./record.ts";
export { createRegistry } from "./registry.ts";
export { createOperatorRevocations } from "./revocations.ts";
export { followStatements } from "./statements.ts";
export { unknownOperator } from "./unknown.ts";
export { createUnsignedAskers } from "./unsigned.ts";
