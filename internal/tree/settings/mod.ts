export { type Compiled, createCompilers, type SettingsCompiler } from "./compile.ts";
export {
  examineSettings,
  examineTemplates,
  groupFaults,
  hintsOf,
  pathOfName,
  settingsVariables,
} from "./examine.ts";
export { SettingsFault } from "./fault.ts";
export type { Assignment, Merged, Source } from "./layers.ts";
export { settingsTop, topFile } from "./top.ts";
export { changedPaths, readTree, type SettingsTree } from "./tree.ts";
