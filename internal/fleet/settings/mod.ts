export { answerSettings } from "./answer.ts";
export { createCompilers, type SettingsCompiler } from "./compile.ts";
export { createEnvelopeMaker } from "./envelope.ts";
export { followTree } from "./follow.ts";
export { createKeeper } from "./keeper.ts";
export { lintSettings } from "./lint.ts";
export { localSettings } from "./local.ts";
export {
  explainSettings,
  revealExplained,
  revealSettings,
  type SettingsDeps,
  showSettings,
} from "./operations.ts";
export { createSettingsReader, type SettingsReader } from "./read-settings.ts";
export { type FedSettingsStore, openSettingsStore, type SettingsAnswer } from "./store.ts";
export { type Peels, trackSettings } from "./tracker.ts";
export { type SettingsVersions, watchVersions } from "./versions.ts";
export { createSettingsView, type SettingsView } from "./view.ts";
