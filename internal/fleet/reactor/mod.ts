export { tellClone } from "./clone.ts";
export type { Reaction } from "./describe.ts";
export { dropCauses } from "./drop.ts";
export { maxTagLength } from "./event.ts";
export { createJobLookup } from "./job-lookup.ts";
export { lintRules } from "./lint.ts";
export { loadRules } from "./load.ts";
export { encodePeelEvent } from "./message.ts";
export { openReactorRules } from "./open-ways.ts";
export {
  listRules,
  type ReactorOperationDeps,
  type ReactorStatus,
  resetBreakers,
  type SaidEvent,
  showStatus,
  testEvent,
} from "./operations.ts";
export { followPresence } from "./presence.ts";
export { refusedMessage } from "./refused-rules.ts";
export type { Rule } from "./rule.ts";
export { ruleProblems } from "./rule-problems.ts";
export { startReactor } from "./run.ts";
export { tellSuspended } from "./suspended.ts";
