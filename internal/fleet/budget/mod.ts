export { type Budgets, budgetKinds } from "./budgets.ts";
export type { LogLines } from "./log-lines.ts";
export { paceWatch } from "./pace-watch.ts";
export { watchPauses } from "./pauses.ts";
export { startBudgets } from "./peel-budgets.ts";
export { sentAs } from "./sent-as.ts";
