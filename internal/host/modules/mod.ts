export { argumentProblem, checkArguments, expectation, readArgument } from "./arguments.ts";
export type { AuditWitness } from "./audit-witness.ts";
export { arg, type ValuesOf } from "./define.ts";
export { serialOf } from "./dnsutil.ts";
export { tagProblem } from "./event.ts";
export { isRootDirectory } from "./file-write.ts";
export {
  type ArgSpec,
  type CallArgs,
  type CallContext,
  type DataUse,
  type FilesOfCall,
  FunctionFailure,
  type ModuleFunction,
} from "./function.ts";
export type { IdentityService } from "./identity-service.ts";
export { packageChanges } from "./pkg.ts";
export { readCall } from "./read-call.ts";
export { allFunctions, checkCall, filesOfCall, functionNamed, functionNames } from "./registry.ts";
export type { SettingsStore } from "./settings-store.ts";
export {
  type CallProgress,
  type EndedRun,
  type EndedState,
  type RunOrigin,
  runTriggers,
  type StateResult,
  type StatesCaller,
  type StatesRequest,
  type StatesService,
} from "./states-service.ts";
export type { UpgradeRequest, UpgradeService } from "./upgrade-service.ts";
