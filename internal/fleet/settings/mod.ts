export { answerSettings } from "./answer.ts";
export { createSettingsController } from "./controller.ts";
export { type CheckTree, followTree } from "./follow.ts";
export { settingOperations } from "./joined.ts";
export { createKindsReader, type KindsReader } from "./kinds.ts";
export { createSettingsReader, type SettingsReader } from "./read-settings.ts";
export { type Peels, trackSettings } from "./tracker.ts";
export { type SettingsVersions, watchVersions } from "./versions.ts";
export { createSettingsView, type SettingsView } from "./view.ts";
