export { answerMasters } from "./answer-masters.ts";
export type { Reaction } from "./describe.ts";
export { reactorOperations } from "./joined.ts";
export { matchesSource } from "./match.ts";
export { openReactorRules } from "./open-ways.ts";
export type { ReactorOperationDeps, ReactorStatus, SaidEvent } from "./operations.ts";
export { reachedReactor } from "./relay.ts";
export { startReactor } from "./run.ts";
export { createTagIndex } from "./tag-index.ts";
