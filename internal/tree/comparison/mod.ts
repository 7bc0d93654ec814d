export {
  type Budget,
  type Comparison,
  compareSnapshots,
  comparisonBudget,
} from "./compare-snapshots.ts";
