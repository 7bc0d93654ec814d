export type { Turns } from "./budget.ts";
export { compatOf } from "./compat.ts";
export { compileSettingsForKinds } from "./compile-settings.ts";
export { compileForKinds } from "./compile-states.ts";
export { type Checked, type Finding, headlineOf, summaryOf } from "./finding.ts";
export { type Kind, type Kinds, maxKinds } from "./kind.ts";
export { createSettingsCheck } from "./settings.ts";
export { createStateCheck } from "./states.ts";
