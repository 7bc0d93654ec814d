import type { Plain } from "../../base/msgpack.ts";
import { isSettings, type Settings } from "../../wire/settings-envelope.ts";

/**
 * Merges settings over others: maps are merged at every depth; every other value, including a list or null,
 * replaces the previous one. Does not modify the inputs; the result shares parts of them.
 */
export function mergeSettings(under: Settings, over: Settings): Settings {
  const merged: Record<string, Plain> = { ...under };
  for (const [name, value] of Object.entries(over)) {
    const below = merged[name];
    merged[name] =
      Object.hasOwn(merged, name) && isSettings(below) && isSettings(value)
        ? (mergeSettings(below, value) as Plain)
        : value;
  }
  return merged;
}
