import type { TextPosition } from "../../base/place.ts";
import type { YamlNode } from "../../base/yaml/yaml.ts";
import type { ReadYaml } from "./read.ts";

/** The settings of one file, as it was merged for one peel. */
export interface Layer {
  /** Path below the directory of the settings. */
  readonly file: string;
  /** What is in it. */
  readonly root: YamlNode;
  /** The line of the top file, or of another file, that includes it: `top.sls:4`. */
  readonly because: string;
  /** Whether it is below a directory `secret`, or was rendered with a file that is. */
  readonly isSecret: boolean;
  /** Where a place of it is written. */
  source(at: TextPosition): Source;
}

/** Where something is written. */
export interface Source {
  readonly file: string;
  readonly line: number;
}

/** A file that was merged into the settings of a peel. */
export interface MergedFile extends ReadYaml {
  path: string;
  /** The line that includes it. */
  because: string;
}

/** Below a directory of this name, every value is a secret. */
export const isSecretPath = (path: string) => /(?:^|\/)secret\//.test(path);

/** The layer of a file. Where it is a template that was not traced, its lines are those of the rendered text. */
export function layerOf({ path, root, templates, because, place }: MergedFile): Layer {
  return {
    ...{ file: path, root, because },
    isSecret: [path, ...templates].some(isSecretPath),
    source: (at) => place?.(at) ?? { file: path, line: at.line },
  };
}

/** One file that set a value. */
export interface Assignment {
  readonly layer: Layer;
  readonly node: YamlNode;
  /** Where its name is written. */
  readonly at: TextPosition;
  /** The names that lead to it. */
  readonly path: readonly string[];
}

/** A setting of the merged tree, with every file that set it. */
export interface Merged {
  readonly path: readonly string[];
  /** In the order of merging: the last one counts, or all of them where the value is a map. */
  readonly sets: Assignment[];
  /** What was in its place before it: values that were not maps, of this name or of one around it. */
  readonly under: readonly Assignment[];
  /** Its settings, while it is a map. */
  entries: Map<string, Merged> | undefined;
}

/**
 * Merges the settings of files, as `mergeSettings` does, and remembers which file set what.
 *
 * @param layers in the order of merging
 */
export function mergeLayers(layers: readonly Layer[]): Merged {
  const root: Merged = { path: [], sets: [], under: [], entries: new Map() };
  for (const layer of layers) {
    if (layer.root.kind === "map") put(root, { layer, node: layer.root, at: layer.root.at, path: [] });
  }
  return root;
}

function put(merged: Merged, set: Assignment): void {
  const { node, layer, path } = set;
  const was = merged.entries;
  const covered = was === undefined ? [...merged.under, ...merged.sets] : merged.under;
  if (path.length > 0) merged.sets.push(set);
  if (node.kind !== "map") {
    merged.entries = undefined;
    return;
  }
  const entries = was ?? new Map<string, Merged>();
  merged.entries = entries;
  for (const { key, keyAt: at, value } of node.entries) {
    if (path.length === 0 && key === "include") continue;
    const inner = [...path, key];
    const child = entries.get(key) ?? { path: inner, sets: [], under: covered, entries: undefined };
    entries.set(key, child);
    put(child, { layer, node: value, at, path: inner });
  }
}
