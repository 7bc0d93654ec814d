export { formatExample } from "./example.ts";
export { environment } from "./help.ts";
export {
  dataDir,
  loadMasterConfig,
  loadOperatorConfig,
  loadPeelConfig,
  type MasterConfig,
  type PeelConfig,
} from "./load.ts";
export { masterProgram } from "./master.ts";
export { operatorOptions } from "./operator-options.ts";
export { defaultText, flagOf, type Option, type OptionTable, sentenceOf } from "./option.ts";
export { peelProgram } from "./peel.ts";
export { readConfigFile } from "./read-file.ts";
export { maxEntryName, type ScheduleEntry } from "./schedule.ts";
