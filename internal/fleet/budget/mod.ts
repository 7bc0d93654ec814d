export { type BudgetKind, type Budgets, budgetKinds, createBudgets } from "./budgets.ts";
export { createLogLines, type LogLines } from "./log-lines.ts";
export { type Budget, charge, type Meter, newMeter } from "./meter.ts";
export { paceWatch } from "./pace-watch.ts";
