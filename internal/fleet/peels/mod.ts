export { assertIndexed } from "./assert-indexed.ts";
export { comeBackMs } from "./come-back.ts";
export { countFacts, mostCounted } from "./count-facts-operation.ts";
export { checkFactNames } from "./fact-names.ts";
export { type FactsHistoryDeps, factsHistory } from "./facts-history-operation.ts";
export { findFacts, mostShown } from "./find-facts-operation.ts";
export { type FactsDeps, getFacts } from "./get-facts-operation.ts";
export { clockDifferenceOf, type PeelBeat } from "./heartbeats.ts";
export {
  listPeels,
  type PeelsDeps,
  showHeartbeat,
  showPeel,
  surveyPeels,
  surveyRoots,
} from "./operations.ts";
export { packedFact } from "./packed-fact.ts";
export {
  type FoundDeps,
  mostPeels,
  type PageDeps,
  pageOfPeels,
  peelPageFields,
  peelsOf,
  targetField,
} from "./page-of-peels.ts";
export { type MemberSources, type ShownPeel, showMember } from "./peel.ts";
export { followSilences, type Silences, type SilencesDeps } from "./silences.ts";
export type { SurveyDeps } from "./survey.ts";
