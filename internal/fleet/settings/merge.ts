import type { Plain } from "../../base/msgpack.ts";
import { isSettings, type Settings } from "./envelope.ts";

/**
 * Lays settings over others: where both have a map the maps are merged, at every depth; anything else of
 * the later one takes the place of what was there, a list and a null too. Neither is changed; parts of them
 * are shared with the result.
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
