export { commonNames } from "./common-args.ts";
export {
  assignedStates,
  type CompiledStates,
  type CompileOptions,
  compileSingle,
  compileStates,
} from "./compile.ts";
export { lintStates } from "./lint.ts";
export { renderAlone } from "./render-alone.ts";
export { stateSchema } from "./schema.ts";
export { statesTop } from "./top.ts";
