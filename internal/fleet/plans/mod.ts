export { planOperations } from "./joined.ts";
export type { PlanCause, PlanDocument, PlanGroup } from "./plan-document.ts";
export { createPlans, type OpenedEnvironment } from "./plans.ts";
export { maxPartBytes, openPlanStore } from "./store.ts";
