export { planOperations } from "./joined.ts";
export type { PlanCause, PlanDocument, PlanGroup } from "./plan-document.ts";
export { createPlans, type OpenedEnvironment, type PlansDeps } from "./plans.ts";
export { maxPartBytes, openPlanStore } from "./store.ts";
