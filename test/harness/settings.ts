import type { PeelSettings } from "../../internal/agent/daemon/settings.ts";
import type { Settings } from "../../internal/fleet/settings/envelope.ts";
import { settingAt } from "../../internal/fleet/settings/store.ts";

/** Given settings, independent of any master. */
export function fixedSettings(settings: Settings = {}): PeelSettings {
  return {
    resolved: true,
    reason: undefined,
    version: 0,
    current: () => settings,
    labels: () => ({}),
    get: (path, fallback) => settingAt(settings, path, fallback),
    take: () => false,
    refresh: async () => false,
    attach: () => {},
  };
}
