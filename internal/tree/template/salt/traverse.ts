import { itemsOf, type Value, ValueMap } from "../../jinja/values/mod.ts";

/**
 * The value that a path leads to, from map to map and from list to list. A key may contain the delimiter itself; the
 * shortest key that leads to a value wins. In a list, a word that is not a number looks into its maps.
 */
export function valueAt(at: Value | undefined, path: Value, delimiter = ":"): Value | undefined {
  const words = itemsOf(path);
  if (words !== undefined) return step(at, words, delimiter);
  if (typeof path !== "string")
    return at instanceof ValueMap || Array.isArray(at) ? step(at, [path]) : undefined;
  return step(at, path.split(delimiter), delimiter);
}

function step(at: Value | undefined, words: readonly Value[], delimiter = ":"): Value | undefined {
  if (words.length === 0) return at;
  const [first, ...rest] = words;
  if (Array.isArray(at)) {
    if (/^-?\d{1,9}$/.test(String(first))) {
      const index = Number(first);
      return step(at[index < 0 ? at.length + index : index], rest, delimiter);
    }
    const holder = at.find((item) => item instanceof ValueMap && item.has(first as Value));
    return holder instanceof ValueMap ? step(holder.get(first as Value), rest, delimiter) : undefined;
  }
  if (!(at instanceof ValueMap)) return undefined;
  for (let length = 1; length <= words.length; length++) {
    const key = length === 1 ? (first as Value) : words.slice(0, length).join(delimiter);
    const value = entryOf(at, key);
    const found = value === undefined ? undefined : step(value, words.slice(length), delimiter);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A word of a path may be the number that is a key. */
function entryOf(map: ValueMap, key: Value): Value | undefined {
  const found = map.get(key);
  if (found !== undefined || typeof key !== "string" || !/^\d{1,15}$/.test(key)) return found;
  return map.get(Number(key));
}
