export { createRequestJudge, type RequestJudge } from "./door.ts";
export { idOfRequest } from "./ids.ts";
export { listenToOperators, type OperatorRequest } from "./listen.ts";
export { createNonces } from "./nonces.ts";
export { createOperatorBudgets, type OperatorBudgets, type OperatorLimits } from "./operator-budgets.ts";
export { signedOrNot } from "./signed-or-not.ts";
