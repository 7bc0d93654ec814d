import * as v from "valibot";
import { quote } from "../../base/cut.ts";
import { checkNode } from "../../base/document/read.ts";
import { mapOf } from "../../base/document/schemas.ts";
import { SvcError } from "../../base/errors.ts";
import { atLine } from "../../base/place.ts";
import type { YamlNode } from "../../base/yaml/yaml.ts";
import {
  compileTarget,
  type ExpandedExpression,
  expandGroups,
  type Groups,
  matchersOf,
  type PeelTest,
  parseTarget,
  readGroups,
  topExpression,
  topSection,
  type Way,
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
  readonly parsed: ExpandedExpression;
  /** The target as written, and its place. */
  readonly expression: string;
  readonly at: string;
  /** Whether it uses facts, which peels report themselves. */
  readonly usesFacts: boolean;
  readonly names: readonly { name: string; at: string }[];
}

const ways: readonly Way[] = ["compound", "glob", "pcre", "list", "grain", "grain_pcre", "fact", "nodegroup"];

/** What a top file may hold: the environment `base`, with targets and their settings files. */
export function settingsTop() {
  const section = topSection(ways, {
    targets: "expected a map of targets",
    list: "expected a list of settings files",
    item: "expected the name of a settings file, or match: compound",
    way: () => `unknown match type: known are ${ways.join(", ")}`,
  });
  const base = v.pipe(
    v.string(),
    v.check(
      (name) => name === "base",
      ({ input }) => `the environment ${shown(input)} is unknown: settings have base alone`,
    ),
  );
  return v.nullable(mapOf(v.nullable(section), base, () => "expected a map of environments: base"));
}

/**
 * Reads a top file.
 *
 * @param label the name of the file in messages
 * @throws SettingsFault with the place
 */
export function readTop(root: YamlNode, label: string, groups: () => Groups): Top {
  const document = checkNode(root, label, settingsTop(), () => [], faultAt);
  const targets: TopTarget[] = [];
  let usesGroups = false;
  for (const [key, items] of document.value?.get("base") ?? []) {
    const path = ["base", key];
    const at = atLine(label, document.keyAt(path).line);
    const { test, parsed, kinds, hasGroup } = compile(topExpression(key, items), at, groups);
    if (kinds.has("setting")) {
      throw new SettingsFault(`${at}: ${shown(key)}: I@ cannot be used to assign settings`);
    }
    usesGroups ||= hasGroup;
    const names = items.flatMap((name, item) =>
      typeof name === "string" ? [{ name, at: atLine(label, document.at([...path, item]).line) }] : [],
    );
    targets.push({ test, parsed, expression: key, at, usesFacts: kinds.has("fact"), names });
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
    return { test: compileTarget(expression), parsed: expression, kinds, hasGroup };
  });
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
  return quote(text, 60);
}
