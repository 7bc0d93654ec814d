export { sampleOperations } from "./joined.ts";
export { type MaintainDeps, maintainSamples } from "./maintain.ts";
export { followSamples } from "./view.ts";
