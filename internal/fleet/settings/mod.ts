export { answerSettings } from "./answer.ts";
export { createCompilers, type SettingsCompiler } from "./compile.ts";
export { createEnvelopeMaker } from "./envelope.ts";
export { followTree } from "./follow.ts";
export { createKeeper } from "./keeper.ts";
export { localSettings } from "./local.ts";
export { type FedSettingsStore, openSettingsStore, type SettingsAnswer } from "./store.ts";
export { type Peels, trackSettings } from "./tracker.ts";
export { createSettingsView, type SettingsView } from "./view.ts";
