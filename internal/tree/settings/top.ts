import { SvcError } from "../../base/errors.ts";
import { atLine } from "../../base/place.ts";
import { isNothing, type YamlNode } from "../../base/yaml.ts";
import {
  compileTarget,
  expandGroups,
  type Groups,
  matchersOf,
  type PeelTest,
  parseTarget,
  readGroups,
} from "../targets/mod.ts";
import { faultAt, SettingsFault } from "./fault.ts";
import type { SettingsTree } from "./tree.ts";

export const topFile = "top.sls";
/** Groups for `N@`, in the same directory. */
export const groupsFile = "nodegroups.yaml";

/** The targets of a top file, in file order. */
export interface Top {
  readonly targets: readonly TopTarget[];
  readonly usesGroups: boolean;
}

export interface TopTarget {
  readonly test: PeelTest;
  /** The target as written, and its place. */
  readonly expression: string;
  readonly at: string;
  /** Whether it uses facts, which peels report themselves. */
  readonly asksFacts: boolean;
  readonly names: readonly { name: string; at: string }[];
}

/** Match types of Salt's top files, and the matcher of each. */
const matchers: Readonly<Record<string, string>> = {
  compound: "",
  glob: "",
  pcre: "E@",
  list: "L@",
  grain: "G@",
  grain_pcre: "P@",
  fact: "G@",
  nodegroup: "N@",
};

/**
 * Reads a top file.
 *
 * @param label the name of the file in messages
 * @throws SettingsFault with the place
 */
export function readTop(root: YamlNode, label: string, groups: () => Groups): Top {
  const environments = entriesOf(root, label, "a map of environments: base");
  const targets: TopTarget[] = [];
  let usesGroups = false;
  for (const { key, keyAt, value } of environments) {
    if (key !== "base") {
      throw faultAt(label, keyAt, `the environment ${shown(key)} is unknown: settings have base alone`);
    }
    for (const entry of entriesOf(value, label, "a map of targets")) {
      const at = atLine(label, entry.keyAt.line);
      const { names, matcher } = readFiles(entry.value, label);
      const { test, kinds, hasGroup } = compile(`${matcher}${entry.key}`, at, groups);
      if (kinds.has("setting")) {
        throw new SettingsFault(`${at}: ${shown(entry.key)}: I@ cannot be used to assign settings`);
      }
      usesGroups ||= hasGroup;
      targets.push({ test, expression: entry.key, at, asksFacts: kinds.has("fact"), names });
    }
  }
  return { targets, usesGroups };
}

/** The node groups of a tree. @throws SettingsFault */
export function groupsOf(tree: SettingsTree): Groups {
  const file = tree.files.get(groupsFile);
  if (file?.problem !== undefined) throw new SettingsFault(`${groupsFile}: ${file.problem}`);
  return within(() => readGroups(file?.text ?? "", groupsFile));
}

function compile(text: string, at: string, groups: () => Groups) {
  return within(() => {
    const parsed = parseTarget(text, at);
    const hasGroup = [...matchersOf(parsed)].some(({ kind }) => kind === "group");
    const expression = expandGroups(parsed, hasGroup ? groups() : new Map(), at);
    const kinds = new Set([...matchersOf(expression)].map(({ kind }) => kind));
    return { test: compileTarget(expression), kinds, hasGroup };
  });
}

/** Reads the files of a target; a map among them sets the match type. */
function readFiles(node: YamlNode, label: string): { names: TopTarget["names"]; matcher: string } {
  if (isNothing(node)) return { names: [], matcher: "" };
  if (node.kind !== "list") throw faultAt(label, node.at, "expected a list of settings files");
  const names: { name: string; at: string }[] = [];
  let matcher = "";
  for (const item of node.items) {
    if (item.kind === "scalar" && typeof item.value === "string") {
      names.push({ name: item.value, at: atLine(label, item.at.line) });
      continue;
    }
    const [entry, ...rest] = item.kind === "map" ? item.entries : [];
    if (entry?.key !== "match" || rest.length > 0 || entry.value.kind !== "scalar") {
      throw faultAt(label, item.at, "expected the name of a settings file, or match: compound");
    }
    const known = matchers[String(entry.value.value)];
    if (known === undefined || !Object.hasOwn(matchers, String(entry.value.value))) {
      const list = Object.keys(matchers).join(", ");
      throw faultAt(label, entry.value.at, `unknown match type: known are ${list}`);
    }
    matcher = known;
  }
  return { names, matcher };
}

function entriesOf(node: YamlNode, label: string, expected: string) {
  if (isNothing(node)) return [];
  if (node.kind !== "map") throw faultAt(label, node.at, `expected ${expected}`);
  return node.entries;
}

function within<Value>(run: () => Value): Value {
  try {
    return run();
  } catch (thrown) {
    if (thrown instanceof SettingsFault || !(thrown instanceof SvcError)) throw thrown;
    throw new SettingsFault(thrown.message, { cause: thrown });
  }
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}
