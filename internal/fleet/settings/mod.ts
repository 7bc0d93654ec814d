export { answerSettings } from "./answer.ts";
export { followTree } from "./follow.ts";
export { createKeeper } from "./keeper.ts";
export {
  explainSettings,
  revealExplained,
  revealSettings,
  type SettingsDeps,
  showSettings,
} from "./operations.ts";
export { createSettingsReader, type SettingsReader } from "./read-settings.ts";
export { type Peels, trackSettings } from "./tracker.ts";
export { type SettingsVersions, watchVersions } from "./versions.ts";
export { createSettingsView, type SettingsView } from "./view.ts";
