export { openExpected } from "./open-ways.ts";
export {
  type ExpectedDeps,
  expectOperation,
  listExpected,
  mostHosts,
  type ShownHost,
  unexpectOperation,
} from "./operations.ts";
export { followExpected } from "./view.ts";
export { createExpectedWay } from "./way-in.ts";
