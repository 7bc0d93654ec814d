import type { Plain } from "../../base/msgpack.ts";
import { nearest } from "../../base/nearest.ts";
import type { Merged } from "../../tree/settings/mod.ts";
import { isMasked, masked, type Showing, shownValue } from "./mask.ts";

/** A setting that was asked for by its name. */
export type Found =
  | {
      /** The setting, or the list that it is in. */
      merged: Merged;
      /** Its place in that list: `0`, `name`. Empty for the setting itself. */
      within: readonly string[];
      value: Plain;
    }
  | {
      /** The end of a message: ` (did you mean app:port?)`, or nothing. */
      near: string;
    };

/**
 * Finds a setting as states do: colons lead into maps and lists. What is masked is found whatever follows its name, so
 * that nobody learns by trying what is in it.
 *
 * @param name `app:port`, `users:0:name`; all settings when absent
 */
export function findSetting(root: Merged, name: string | undefined, showing: Showing): Found {
  return descend(root, name?.split(":") ?? [], showing);
}

function descend(merged: Merged, words: readonly string[], showing: Showing): Found {
  if (words.length === 0 || isMasked(merged, showing)) {
    return { merged, within: [], value: shownValue(merged, showing) };
  }
  const { entries } = merged;
  if (entries === undefined) {
    const value = inside(shownValue(merged, showing), words);
    return value === undefined ? { near: "" } : { merged, within: words, value };
  }
  let near: string | undefined;
  // A name may have a colon in it.
  for (let length = 1; length <= words.length; length++) {
    const inner = entries.get(words.slice(0, length).join(":"));
    if (inner === undefined) continue;
    const found = descend(inner, words.slice(length), showing);
    if (!("near" in found)) return found;
    near ??= found.near;
  }
  return { near: near ?? nearInside(merged.path, entries, words, showing) };
}

/** What a mistake in the first word may mean, with what follows it where that exists. */
function nearInside(
  path: readonly string[],
  entries: ReadonlyMap<string, Merged>,
  [first = "", ...rest]: readonly string[],
  showing: Showing,
): string {
  const word = nearest(first, [...entries.keys()]);
  const meant = word === undefined ? undefined : entries.get(word);
  if (word === undefined || meant === undefined) return "";
  const shown = (words: readonly string[]) => ` (did you mean ${[...path, ...words].join(":")}?)`;
  // Of a masked value, only the name may be shown.
  if (rest.length === 0 || isMasked(meant, showing)) return shown([word]);
  const found = descend(meant, rest, showing);
  if (!("near" in found)) return shown([word, ...rest]);
  return found.near === "" ? shown([word]) : found.near;
}

/** The value inside a list, which files replace as a whole, or inside a map in it. */
function inside(value: Plain, words: readonly string[]): Plain | undefined {
  const [word, ...rest] = words;
  if (word === undefined || value === masked) return value;
  if (Array.isArray(value)) {
    const item = /^\d{1,9}$/.test(word) ? value[Number(word)] : undefined;
    return item === undefined ? undefined : inside(item, rest);
  }
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return undefined;
  for (let length = 1; length <= words.length; length++) {
    const key = words.slice(0, length).join(":");
    if (!Object.hasOwn(value, key)) continue;
    const found = inside(value[key] ?? null, words.slice(length));
    if (found !== undefined) return found;
  }
  return undefined;
}
