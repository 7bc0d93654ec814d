import { isSecretName } from "../../base/names/secret-name.ts";
import type { Merged } from "./layers.ts";

/**
 * The places of values that are secret because of the file that set them. Where a name or a text shows it,
 * the peel sees it by itself.
 */
export function secretPlaces(merged: Merged): (readonly string[])[] {
  if (merged.path.some(isSecretName)) return [];
  if (merged.entries === undefined || merged.entries.size === 0) {
    return merged.sets.at(-1)?.layer.isSecret === true ? [merged.path] : [];
  }
  const inner = [...merged.entries.values()];
  const places = inner.map(secretPlaces);
  // A map of secrets alone is one place.
  const isWhole = merged.path.length > 0 && places.every((found, at) => found[0] === inner[at]?.path);
  return isWhole ? [merged.path] : places.flat();
}
