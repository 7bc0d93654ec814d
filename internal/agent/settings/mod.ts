export { localSettings } from "./local.ts";
export type { SecretValue } from "./secret-values.ts";
export { openPeelSettings, type PeelSettings } from "./settings.ts";
export type { FedSettingsStore } from "./store.ts";
