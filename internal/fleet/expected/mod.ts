export { expectedOperations } from "./joined.ts";
export { openExpected } from "./open-ways.ts";
export { expectedTtl, maxHosts, type ShownHost } from "./operations.ts";
export { followExpected } from "./view.ts";
export { createExpectedWay } from "./way-in.ts";
