export { answerMasters } from "./answer-masters.ts";
export { tellClone } from "./clone.ts";
export { tellCompliance } from "./compliance.ts";
export type { Reaction } from "./describe.ts";
export { dropCauses } from "./drop.ts";
export { type Event, isServiceTag, masterSource, maxTagLength, tagOf } from "./event.ts";
export { createJobLookup, depthOf, type JobOf } from "./job-lookup.ts";
export { lintRules } from "./lint.ts";
export { loadRules } from "./load.ts";
export { matchesSource } from "./match.ts";
export { openReactorRules } from "./open-ways.ts";
export {
  listRules,
  type ReachedReactor,
  type ReactorOperationDeps,
  type ReactorStatus,
  reachBreakers,
  reachRules,
  reachStatus,
  reachTest,
  resetBreakers,
  type SaidEvent,
  showStatus,
  testEvent,
} from "./operations.ts";
export { followPresence } from "./presence.ts";
export { type Reading, readEvent, readReturn, readScheduled } from "./read-event.ts";
export { rulesFile } from "./read-rule.ts";
export { refusedMessage } from "./refused-rules.ts";
export type { Rule } from "./rule.ts";
export { ruleProblems } from "./rule-problems.ts";
export { startReactor } from "./run.ts";
export { tellSuspended } from "./suspended.ts";
export { createTagIndex } from "./tag-index.ts";
export { canMatch, patternProblem, sourcePattern } from "./tag-pattern.ts";
