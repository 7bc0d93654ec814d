export { checkAutomation, createInsistence, type Insistence } from "./create.ts";
export type { Consent } from "./judge.ts";
export { checkOperatorRoles } from "./operator-roles.ts";
export type { Refusal } from "./refusal.ts";
