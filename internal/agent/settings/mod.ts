export { localSettings } from "./local.ts";
export { openPeelSettings, type PeelSettings } from "./settings.ts";
export type { FedSettingsStore } from "./store.ts";
