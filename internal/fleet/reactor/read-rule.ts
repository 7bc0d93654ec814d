import { defined } from "../../base/defined.ts";
import { ruleNameForm } from "../../base/names.ts";
import { atLine } from "../../base/place.ts";
import {
  booleanOf,
  durationOf,
  failure,
  fieldsOf,
  itemsOf,
  type Place,
  textOf,
  within,
} from "../../base/read-yaml.ts";
import { isNothing, kindOf, parseYaml, type YamlNode } from "../../base/yaml.ts";
import { enrollmentTag } from "./event.ts";
import { type EventTrust, readAction } from "./read-action.ts";
import { maxGlob, readConditions } from "./read-condition.ts";
import { literalOf } from "./read-node.ts";
import { type Action, maxRules, type OpenPlace, type RefusedRule, type Rule } from "./rule.ts";
import { patternProblem, sourcePattern } from "./tag-pattern.ts";

const keys = ["name", "match", "source", "when", "throttle", "unsafe", "do"] as const;
const required = ["name", "match", "do"] as const;
const maxPatterns = 32;
const maxPatternLength = 256;
const maxActions = 16;
const maxThrottleMs = 30 * 24 * 60 * 60 * 1000;

/** The rules of a file. */
export interface RulesOfFile {
  readonly rules: readonly Rule[];
  readonly refused: readonly RefusedRule[];
}

/**
 * Reads the rules of one file. A rule that uses event data where it is not allowed is refused alone; any other
 * error is one of the file.
 *
 * @param file path of the file, for messages
 * @throws SvcError `bad_request`: `<file>:<line>:<column>: <reason>`
 */
export function readRules(text: string, file: string): RulesOfFile {
  const root = parseYaml(text, file);
  const place = { file, what: "" };
  if (isNothing(root)) return { rules: [], refused: [] };
  const list = fieldsOf(root, place, ["rules"]).get("rules")?.value;
  if (list === undefined || isNothing(list)) return { rules: [], refused: [] };
  const rules: Rule[] = [];
  const refused: RefusedRule[] = [];
  const nodes = itemsOf(list, within(place, "rules"), maxRules);
  for (const [at, node] of nodes.entries()) {
    const { rule, open } = readRule(node, file, at);
    if (open.length === 0 || rule.unsafe !== undefined) rules.push(rule);
    else refused.push({ name: rule.name, places: open, file, at: node.at });
  }
  return { rules, refused };
}

function readRule(node: YamlNode, file: string, at: number): { rule: Rule; open: OpenPlace[] } {
  const unnamed = { file, what: `rule ${at + 1}` };
  const fields = fieldsOf(node, unnamed, keys);
  const missing = required.find((key) => !fields.has(key));
  if (missing !== undefined) throw failure(unnamed, node.at, `${missing} is missing`);
  const field = <T>(key: (typeof keys)[number], read: (node: YamlNode, place: Place) => T, place: Place) => {
    const value = fields.get(key)?.value;
    return value === undefined ? undefined : read(value, within(place, key));
  };
  const name = field("name", readName, unnamed) ?? "";
  const place = { file, what: `rule ${name}` };
  const match = field("match", readMatch, place) ?? [];
  const source = field("source", readSource, place);
  const throttleMs = field("throttle", (value, inside) => durationOf(value, inside, 0, maxThrottleMs), place);
  const open: OpenPlace[] = [];
  const trust: EventTrust = {
    unsafe: field("unsafe", booleanOf, place) ?? false,
    onRefusal({ what }, { line }, reason) {
      open.push({ line, text: `${atLine(file, line)}: ${what}: ${reason}` });
    },
  };
  const rule: Rule = {
    name,
    match,
    ...defined({ source }),
    when: field("when", readConditions, place) ?? [],
    ...defined({ throttleMs }),
    actions: field("do", (value, inside) => readActions(value, inside, match, trust), place) ?? [],
    ...(trust.unsafe ? { unsafe: open } : {}),
    file,
    at: node.at,
  };
  return { rule, open };
}

function readName(node: YamlNode, place: Place): string {
  const name = textOf(node, place, 64);
  if (ruleNameForm.test(name)) return name;
  throw failure(place, node.at, "expected letters, digits, -, _ and dots, with a letter or digit first");
}

function readMatch(node: YamlNode, place: Place): string[] {
  const nodes = node.kind === "list" ? itemsOf(node, place, maxPatterns) : [node];
  if (nodes.length === 0)
    throw failure(place, node.at, "expected a glob on tags, such as disk/full or svc/**");
  return nodes.map((item) => {
    const pattern = literalOf(item, place, maxPatternLength);
    const problem = patternProblem(pattern);
    if (problem !== undefined) throw failure(place, item.at, problem);
    return pattern;
  });
}

function readSource(node: YamlNode, place: Place): string {
  const pattern = literalOf(node, place, maxGlob);
  if (sourcePattern.test(pattern)) return pattern;
  throw failure(place, node.at, "expected a glob on peel ids, such as web*");
}

function readActions(node: YamlNode, place: Place, match: readonly string[], trust: EventTrust): Action[] {
  if (node.kind === "list" && node.items.length === 0) {
    throw failure(place, node.at, "expected at least one action");
  }
  if (node.kind !== "list") {
    throw failure(place, node.at, `expected a list of actions, found ${kindOf(node)}: start each with -`);
  }
  return itemsOf(node, place, maxActions).map((item) => {
    const action = readAction(item, place, trust);
    if (action.kind === "approve" && match.some((pattern) => pattern !== enrollmentTag)) {
      throw failure(place, item.at, `approve is only for rules with match: ${enrollmentTag}`);
    }
    return action;
  });
}
