export { type Addresses, createAddresses } from "./addresses.ts";
export { comeBackMs } from "./come-back.ts";
export { maxCounted } from "./count-facts-operation.ts";
export { checkFactNames } from "./fact-names.ts";
export { maxShown } from "./find-facts-operation.ts";
export { clockDifferenceOf } from "./heartbeats.ts";
export { peelOperations } from "./joined.ts";
export { packedFact } from "./packed-fact.ts";
export {
  type FoundDeps,
  maxPeels,
  pageOfPeels,
  peelPageFields,
  peelsOf,
  targetField,
} from "./page-of-peels.ts";
export type { ShownPeel } from "./peel.ts";
export { followSilences } from "./silences.ts";
