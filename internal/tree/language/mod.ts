export { commonNames } from "./common-args.ts";
export {
  assignedStates,
  type CompiledStates,
  type CompileOptions,
  compileSingle,
  compileStates,
} from "./compile.ts";
export { type Examined, type ExamineOptions, examineState, examineTop, type Named } from "./examine.ts";
export { lintStates } from "./lint.ts";
export type { NamedSource } from "./named-sources.ts";
export { neededAhead } from "./needed-ahead.ts";
export { renderAlone } from "./render-alone.ts";
export { stateSchema } from "./schema.ts";
export { expandName, statesTop } from "./top.ts";
export { treeOf } from "./tree.ts";
