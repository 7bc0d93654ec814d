export { type Budgets, budgetKinds } from "./budgets.ts";
export type { LogLines } from "./log-lines.ts";
export { paceOf, paceWatch } from "./pace-watch.ts";
export { watchPauses } from "./pauses.ts";
export { factsOfAll, startBudgets } from "./peel-budgets.ts";
export { sentAs } from "./sent-as.ts";
