export { assertIndexed } from "./assert-indexed.ts";
export { comeBackMs } from "./come-back.ts";
export { mostCounted } from "./count-facts-operation.ts";
export { checkFactNames } from "./fact-names.ts";
export type { FactsHistoryDeps } from "./facts-history-operation.ts";
export { mostShown } from "./find-facts-operation.ts";
export type { FactsDeps } from "./get-facts-operation.ts";
export { peelOperations } from "./joined.ts";
export type { PeelsDeps } from "./operations.ts";
export { packedFact } from "./packed-fact.ts";
export {
  type FoundDeps,
  mostPeels,
  pageOfPeels,
  peelPageFields,
  peelsOf,
  targetField,
} from "./page-of-peels.ts";
export { type MemberSources, type ShownPeel, showMember } from "./peel.ts";
export { followSilences, type Silences, type SilencesDeps } from "./silences.ts";
