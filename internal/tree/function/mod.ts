export { defineState } from "./define.ts";
export { describeChange, describeSizes, maxDiffInput } from "./diff.ts";
export { type Changes, type Plan, type StateContext, StateFailure, type StateFunction } from "./function.ts";
export {
  type Condition,
  type LowState,
  type Place,
  placeOf,
  type Requisite,
  type RequisiteKind,
  type Retry,
  requisiteKinds,
} from "./low.ts";
export { formatProblems, headline, Problems, StateErrors, type StateProblem } from "./problem.ts";
