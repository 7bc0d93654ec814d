export type { Turns } from "./budget.ts";
export { compatOf } from "./compat.ts";
export { type Checked, type Finding, headlineOf, summaryOf } from "./finding.ts";
export { createSettingsCheck } from "./settings.ts";
export { createStateCheck } from "./states.ts";
