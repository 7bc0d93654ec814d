export { checkAutomation, createInsistence, type Insistence } from "./create.ts";
export type { Consent } from "./judge.ts";
