import type { Plain } from "../../base/msgpack.ts";
import type { YamlNode } from "../../base/yaml/yaml.ts";
import type { Assignment, Merged, Source } from "../../tree/settings/mod.ts";
import { isMasked, type Showing, shownSet, shownValue } from "./mask.ts";

/** What one file set. */
export interface Setter extends Source {
  /** The line that asked for the file: `top.sls:4`. */
  because: string;
  value: Plain;
  /** Of what was set, where that is a setting around the one in question. */
  name?: string;
}

/** Where a setting comes from. */
export interface Explained extends Setter {
  name: string;
  /** The files that set it before, in the order of merging. */
  covered: Setter[];
}

/** Settings that one answer explains, at most. */
const maxExplained = 1_000;

/**
 * Explains a setting: one that is a map by all settings in it.
 *
 * @param found as `findSetting` finds it
 * @returns the settings in the order of their names, and whether there are more
 */
export function explainSetting(
  { merged, within, value }: { merged: Merged; within: readonly string[]; value: Plain },
  showing: Showing,
): { settings: Explained[]; more: boolean } {
  const settings: Explained[] = [];
  let more = false;
  const visit = (one: Merged) => {
    if (settings.length === maxExplained) {
      more = true;
      return;
    }
    if (one.entries !== undefined && one.entries.size > 0 && !isMasked(one, showing)) {
      for (const [, inner] of [...one.entries].sort(([a], [b]) => (a < b ? -1 : 1))) visit(inner);
      return;
    }
    const found = explained(one, showing, one === merged ? { within, value } : undefined);
    if (found !== undefined) settings.push(found);
  };
  visit(merged);
  return { settings, more };
}

function explained(
  merged: Merged,
  showing: Showing,
  inner: { within: readonly string[]; value: Plain } | undefined,
): Explained | undefined {
  const last = merged.sets.at(-1);
  if (last === undefined) return undefined;
  const name = nameOf(merged.path);
  const covered = [...merged.under, ...merged.sets.slice(0, -1)].map((set) => {
    const setter = setterOf(set, set.at, shownSet(set, showing));
    return set.path.length === merged.path.length ? setter : { ...setter, name: nameOf(set.path) };
  });
  if (inner === undefined || inner.within.length === 0) {
    return { ...setterOf(last, last.at, shownValue(merged, showing)), name, covered };
  }
  const { within, value } = inner;
  const whole = nameOf([...merged.path, ...within]);
  return { ...setterOf(last, placeWithin(last.node, within), value), name: whole, covered };
}

function setterOf({ layer }: Assignment, at: Assignment["at"], value: Plain): Setter {
  return { ...layer.source(at), because: layer.because, value };
}

/** Where a value inside a list is written. */
function placeWithin(node: YamlNode, words: readonly string[]): YamlNode["at"] {
  if (node.kind === "list") {
    const item = node.items[Number(words[0])];
    return item === undefined ? node.at : words.length === 1 ? item.at : placeWithin(item, words.slice(1));
  }
  if (node.kind !== "map") return node.at;
  for (let length = 1; length <= words.length; length++) {
    const key = words.slice(0, length).join(":");
    const entry = node.entries.find((one) => one.key === key);
    if (entry === undefined) continue;
    return length === words.length ? entry.keyAt : placeWithin(entry.value, words.slice(length));
  }
  return node.at;
}

function nameOf(path: readonly string[]): string {
  return path.join(":");
}
