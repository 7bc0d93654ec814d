import { secretValues, shownSettings } from "../../internal/agent/settings/secret-values.ts";
import type { PeelSettings } from "../../internal/agent/settings/settings.ts";
import { settingAt } from "../../internal/agent/settings/store.ts";
import type { Settings } from "../../internal/wire/settings-envelope.ts";

/** Given settings, independent of any master. */
export function fixedSettings(settings: Settings = {}, secretPlaces: string[][] = []): PeelSettings {
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
    shown: () => shownSettings(settings, secretPlaces),
    secrets: () => secretValues(settings, secretPlaces),
    onChange: () => () => {},
  };
}
