export { type Failure, failures } from "./ask.ts";
export { createPolicyEngine } from "./decide.ts";
export { openRules, type Verdict } from "./describe.ts";
export { followPolicy } from "./follow.ts";
export { policyOperations } from "./joined.ts";
export { lintPolicy } from "./lint.ts";
export { type DescribedApplicant, readApplicant, type ShownWay } from "./operations.ts";
export { type Tried, tryPolicy } from "./try-policy.ts";
export { createPolicyWay } from "./way-in.ts";
