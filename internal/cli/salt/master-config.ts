import { readdirSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf } from "../../base/files/file.ts";
import { isNothing, parseYaml, type YamlEntry, type YamlNode } from "../../base/yaml/yaml.ts";
import { matchGlob } from "../../tree/targets/mod.ts";
import { readText } from "./read-text.ts";

/** The configuration of a Salt master, with its includes. */
export interface MasterConfig {
  /** Every file that was read, in order. */
  files: readonly string[];
  /** Top-level keys. */
  keys: ReadonlyMap<string, YamlEntry>;
  /** The file and line of an entry or a node below these keys. */
  placeOf(at: YamlEntry | YamlNode): { file: string; line: number };
}

const defaultInclude = "master.d/*.conf";
const maxFiles = 256;
const maxNested = 8;

/**
 * Reads the configuration of a Salt master. A key of an included file replaces that of the including one, and
 * maps of the included files are merged, as Salt does.
 *
 * @throws SvcError with file, line and column
 */
export function readMasterConfig(path: string): MasterConfig {
  const files: string[] = [];
  const owners = new WeakMap<YamlNode, string>();
  const read = (file: string): YamlEntry[] => {
    if (files.includes(file)) return [];
    if (files.length >= maxFiles)
      throw new SvcError("bad_request", `${path}: includes more than ${maxFiles} files`);
    files.push(file);
    const root = parseYaml(readText(file, "the configuration of the Salt master"), file);
    remember(root, file, owners);
    if (isNothing(root)) return [];
    if (root.kind !== "map") throw new SvcError("bad_request", `${file}: expected a map of options`);
    return [...root.entries];
  };
  const load = (file: string, depth: number, withDefault: boolean): YamlEntry[] => {
    const own = read(file);
    const named = own.find(({ key }) => key === "default_include")?.value;
    const patterns = [
      ...(withDefault ? [named === undefined ? defaultInclude : (textsOf(named)[0] ?? "")] : []),
      ...textsOf(own.find(({ key }) => key === "include")?.value),
    ].filter((pattern) => pattern !== "");
    if (patterns.length > 0 && depth >= maxNested) {
      throw new SvcError("bad_request", `${file}: more than ${maxNested} nested includes`);
    }
    let included: YamlEntry[] = [];
    for (const pattern of patterns) {
      for (const each of filesOf(pattern, dirname(file))) {
        included = mergeEntries(included, load(each, depth + 1, false));
      }
    }
    const replaced = new Set(included.map(({ key }) => key));
    return [...own.filter(({ key }) => !replaced.has(key)), ...included];
  };
  const entries = load(path, 0, true);
  return {
    files,
    keys: new Map(entries.map((entry) => [entry.key, entry])),
    placeOf(at) {
      const isEntry = "keyAt" in at;
      return {
        file: owners.get(isEntry ? at.value : at) ?? path,
        line: isEntry ? at.keyAt.line : at.at.line,
      };
    },
  };
}

/** The strings of a node: of a list, or the one that it is. */
export function textsOf(node: YamlNode | undefined): string[] {
  if (node === undefined || node.kind === "map") return [];
  if (node.kind === "list")
    return node.items.flatMap((item) => (item.kind === "scalar" ? textsOf(item) : []));
  return node.value === null ? [] : [node.digits ?? String(node.value)];
}

function filesOf(pattern: string, from: string): string[] {
  const path = isAbsolute(pattern) ? pattern : join(from, pattern);
  if (!/[*?[]/.test(path)) return [path];
  const directory = dirname(path);
  if (/[*?[]/.test(directory)) {
    throw new SvcError("bad_request", `include: ${pattern}: only the last part may be a pattern`);
  }
  try {
    return readdirSync(directory)
      .filter((name) => !name.startsWith(".") && matchGlob(basename(path), name))
      .sort()
      .map((name) => join(directory, name));
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT")) return [];
    throw new SvcError("bad_request", `cannot read ${directory}: ${reasonOf(thrown)}`, { cause: thrown });
  }
}

function mergeEntries(before: readonly YamlEntry[], after: readonly YamlEntry[]): YamlEntry[] {
  const merged = new Map(before.map((entry) => [entry.key, entry]));
  for (const entry of after) {
    const earlier = merged.get(entry.key);
    const isBoth = earlier?.value.kind === "map" && entry.value.kind === "map";
    merged.set(
      entry.key,
      isBoth
        ? {
            ...entry,
            value: { ...entry.value, entries: mergeEntries(earlier.value.entries, entry.value.entries) },
          }
        : entry,
    );
  }
  return [...merged.values()];
}

function remember(node: YamlNode, file: string, owners: WeakMap<YamlNode, string>): void {
  if (owners.has(node)) return;
  owners.set(node, file);
  if (node.kind === "list") for (const item of node.items) remember(item, file, owners);
  else if (node.kind === "map") for (const { value } of node.entries) remember(value, file, owners);
}
