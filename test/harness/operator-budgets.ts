import type { OperatorBudgets } from "../../internal/fleet/requests/operator-budgets.ts";

/** Budgets that refuse nothing. */
export const freeBudgets: OperatorBudgets = {
  run: (_, work) => work(),
  beginStream: () => () => {},
  noteForged() {},
  noteName() {},
  flooding: () => [],
};
