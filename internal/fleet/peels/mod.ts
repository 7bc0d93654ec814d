export { listPeels, mostPeels, type PeelsDeps, type PeelsDoorDeps, showPeel } from "./operations.ts";
export type { ShownPeel } from "./peel.ts";
