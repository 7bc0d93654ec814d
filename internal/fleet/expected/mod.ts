export { openExpected } from "./open-ways.ts";
export {
  type ExpectedDeps,
  expectedStates,
  expectOperation,
  listExpected,
  mostHosts,
  type ShownHost,
  unexpectOperation,
} from "./operations.ts";
export { createExpectedWay } from "./way-in.ts";
