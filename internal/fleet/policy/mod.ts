export { type Failure, failures } from "./ask.ts";
export { createPolicyEngine } from "./decide.ts";
export { openRules, type Verdict } from "./describe.ts";
export { followPolicy } from "./follow.ts";
export { lintPolicy } from "./lint.ts";
export {
  type DescribedApplicant,
  explainWays,
  type PolicyOperationDeps,
  readApplicant,
  type ShownWay,
  testPolicy,
} from "./operations.ts";
export { policyFile } from "./read-policy.ts";
export { type Tried, tryPolicy } from "./try-policy.ts";
export { createPolicyWay } from "./way-in.ts";
