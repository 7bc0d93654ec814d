export { type FactsDeps, getFacts, listPeels, mostPeels, type PeelsDeps, showPeel } from "./operations.ts";
export type { ShownPeel } from "./peel.ts";
