import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { isNothing, parseYaml, plainValue, type YamlEntry } from "../../base/yaml/yaml.ts";
import { ruleProblems } from "../../fleet/reactor/rules/mod.ts";
import type { Copied } from "./copy-tree.ts";
import { type MasterConfig, textsOf } from "./master-config.ts";
import { mapTag } from "./reactor-tag.ts";
import { readText } from "./read-text.ts";
import type { Items } from "./report.ts";
import type { Locate } from "./roots.ts";
import { argsOf } from "./schedule.ts";

/** A rule as it is written to a file. */
export interface WrittenRule {
  name: string;
  rule: Record<string, Plain>;
}

const placeholder = /\{\{-?\s*(data(?:\[\s*["']\w+["']\s*\]|\.\w+)+|tag)\s*-?\}\}/g;
const byHand = "Write a rule, see docs/reactor.md";
/** The matcher for each target type of Salt. */
const matchers: Readonly<Record<string, string>> = {
  ...{ glob: "", compound: "", list: "L@", pcre: "E@", grain: "G@", grain_pcre: "P@" },
  ...{ pillar: "I@", nodegroup: "N@" },
};

/**
 * Turns the reactor of a Salt master into rules: what starts states or functions on minions, without a template
 * that decides anything. Everything else becomes an item of the report.
 *
 * @param states the copied state files of `base`, which `salt://` refers to
 */
export function readReactor(
  config: MasterConfig,
  states: readonly Copied[],
  { locate, items }: { locate: Locate; items: Items },
): WrittenRule[] {
  const entry = config.keys.get("reactor");
  if (entry === undefined) return [];
  const mappings = entry.value.kind === "list" ? entry.value.items : [];
  const rules: WrittenRule[] = [];
  for (const mapping of mappings.flatMap((item) => (item.kind === "map" ? item.entries : []))) {
    const place = config.placeOf(mapping);
    const tag = mapTag(mapping.key);
    if (typeof tag === "string") {
      items.add("rules", place, tag, byHand);
      continue;
    }
    if (tag.note !== undefined) items.add("rules", place, tag.note, "Compare the rule with what you want");
    for (const path of textsOf(mapping.value)) {
      const { file, text } = openReaction(path, states, locate);
      if (text === undefined) items.add("rules", place, `${path} cannot be read`, byHand);
      else rules.push(...rulesOf(tag.match, { file, text }, rules.length, items));
    }
  }
  return rules;
}

function openReaction(
  path: string,
  states: readonly Copied[],
  locate: Locate,
): { file: string; text: string | undefined } {
  const below = /^salt:\/\/([^?]+)/.exec(path)?.[1];
  if (below !== undefined) {
    const found = states.find((each) => each.below === below);
    return { file: found?.path ?? path, text: found?.text };
  }
  const file = locate(path);
  try {
    return { file, text: readText(file, "the reaction") };
  } catch (thrown) {
    if (thrown instanceof SvcError) return { file, text: undefined };
    throw thrown;
  }
}

function rulesOf(
  match: string,
  { file, text }: { file: string; text: string },
  before: number,
  items: Items,
): WrittenRule[] {
  const filled = text.replace(placeholder, (written, path: string) => placeholderOf(path) ?? written);
  const line = filled.split("\n").findIndex((each) => /\{[{%]/.test(each));
  if (line >= 0) {
    items.add("rules", { file, line: line + 1 }, "a template decides what is done", byHand);
    return [];
  }
  let entries: readonly YamlEntry[];
  try {
    const root = parseYaml(filled, file);
    entries = root.kind === "map" ? root.entries : [];
    if (root.kind !== "map" && !isNothing(root)) throw new SvcError("bad_request", `${file}: expected a map`);
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    items.add("rules", { file }, thrown.message, byHand);
    return [];
  }
  const rules: WrittenRule[] = [];
  for (const entry of entries) {
    const place = { file, line: entry.keyAt.line };
    try {
      const name = `salt-${before + rules.length + 1}-${entry.key}`
        .replace(/[^A-Za-z0-9_.-]+/g, "-")
        .slice(0, 64);
      const rule = { name, match, do: [actionOf(entry)] };
      const [problem] = ruleProblems(rule);
      if (problem !== undefined) throw new SvcError("bad_request", problem);
      rules.push({ name, rule });
    } catch (thrown) {
      if (!(thrown instanceof SvcError)) throw thrown;
      items.add("rules", place, `${entry.key} is not converted: ${thrown.message}`, byHand);
    }
  }
  return rules;
}

/** What a value of a reaction is here: an event of a minion has its data one level deeper. */
function placeholderOf(path: string): string | undefined {
  const [first, ...names] = path.match(/\w+/g) ?? [];
  if (first === "tag") return placeholderFor("tag");
  if (names[0] === "id" && names.length === 1) return placeholderFor("source");
  return names[0] === "data" && names.length > 1
    ? placeholderFor(["data", ...names.slice(1)].join("."))
    : undefined;
}

function placeholderFor(path: string): string {
  return `\${${path}}`;
}

/** @throws SvcError with the reason why there is no such action */
function actionOf({ value }: YamlEntry): Plain {
  const [call, more] = value.kind === "map" ? value.entries : [];
  if (call === undefined || more !== undefined) throw refusal("expected one function");
  const [, kind = "", name = ""] = /^(\w+)\.(.+)$/.exec(call.key) ?? [];
  if (kind !== "local" && kind !== "cmd") throw refusal(`${call.key} does not run on minions`);
  const written = plainValue(call.value);
  const list = (Array.isArray(written) ? written : [written]) as Record<string, Plain>[];
  const fields: Record<string, Plain> = Object.assign({}, ...list);
  const target = targetOf(fields);
  const args: Plain = fields.args ?? [];
  const isNamed = isMap(args);
  const given = {
    args: fields.arg ?? (isNamed ? [] : args),
    kwargs: fields.kwarg ?? fields.kwargs ?? (isNamed ? args : {}),
  };
  if (["state.apply", "state.sls", "state.highstate"].includes(name)) {
    const { mods, test, ...others } = argsOf("state.apply", given);
    const [other] = Object.keys(others);
    if (other !== undefined) throw refusal(`${name}: ${other} does not exist here`);
    return { states: { target, ...defined({ sls: listOf(mods), test }) } };
  }
  return { job: { target, function: name, args: argsOf(name, given) } };
}

function listOf(mods: Plain | undefined): Plain | undefined {
  return typeof mods === "string" ? mods.split(",") : mods;
}

function targetOf({ tgt, tgt_type: type = "glob", expr_form: form = type }: Record<string, Plain>): string {
  const matcher = matchers[String(form)];
  if (matcher === undefined || !Object.hasOwn(matchers, String(form)))
    throw refusal(`the target type ${form}`);
  const text = Array.isArray(tgt) ? tgt.join(",") : tgt;
  if (typeof text !== "string") throw refusal("tgt is missing");
  return `${matcher}${text}`;
}

function refusal(reason: string): SvcError {
  return new SvcError("bad_request", reason);
}
