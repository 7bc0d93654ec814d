import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { suggestion } from "../../base/nearest.ts";
import type { YamlEntry, YamlNode } from "../../base/yaml.ts";
import type { Place } from "../function/low.ts";
import type { Problems } from "../function/problem.ts";
import { compileTarget } from "../targets/evaluate.ts";
import { type ExpandedExpression, type Expression, matchersOf } from "../targets/expression.ts";
import { createFactPacker } from "../targets/fact-map.ts";
import { matchGlob } from "../targets/glob.ts";
import { parseTarget } from "../targets/parse.ts";
import type { RenderedFile } from "./render.ts";

/** Who a top file is asked for. */
export interface TopSubject {
  /** Encoded peel id. */
  peelId: string;
  facts: Plain;
  settings: Plain;
}

/** A state file that a top file assigns. */
export type Assigned = { sls: string } & Place;

/** Salt's `- match: grain` and the like, as the matchers they stand for. */
const prefixes: Readonly<Record<string, string>> = {
  compound: "",
  glob: "",
  pcre: "E@",
  list: "L@",
  grain: "G@",
  grain_pcre: "P@",
  pillar: "I@",
};

/**
 * The state files that a top file assigns to a peel, in the order of the file, each once.
 *
 * @param environment whose section counts
 * @param names every state file there is, for globs
 */
export function assignedBy(
  top: RenderedFile,
  environment: string,
  names: () => readonly string[],
  subject: TopSubject,
  problems: Problems,
): Assigned[] {
  const matches = matcherFor(subject);
  const assigned = new Map<string, Assigned>();
  for (const { expression, names: given } of targetsOf(top, environment, names, problems)) {
    if (!matches(expression)) continue;
    for (const each of given) if (!assigned.has(each.sls)) assigned.set(each.sls, each);
  }
  return [...assigned.values()];
}

/** A target of a top file with its state files. */
export interface TopTarget {
  expression: ExpandedExpression;
  names: Assigned[];
}

/** Every target of a top file, whoever it matches. What is wrong goes to the problems. */
export function targetsOf(
  top: RenderedFile,
  environment: string,
  names: () => readonly string[],
  problems: Problems,
): TopTarget[] {
  const at = (node: YamlNode): Place => ({ file: top.path, line: node.at.line });
  if (top.root.kind !== "map") {
    problems.add("a top file holds a map of environments, such as base", at(top.root));
    return [];
  }
  const section = top.root.entries.find(({ key }) => key === environment);
  if (section === undefined) {
    const near = suggestion(
      environment,
      top.root.entries.map(({ key }) => key),
    );
    problems.add(`no section for the environment ${environment}${near}`, at(top.root));
    return [];
  }
  if (section.value.kind !== "map") {
    problems.add("an environment holds a map of targets to state files", {
      file: top.path,
      line: section.keyAt.line,
    });
    return [];
  }
  return section.value.entries.flatMap((entry) => {
    const read = readTarget(entry, top.path, problems);
    if (read === undefined) return [];
    const expanded = read.names.flatMap(({ sls, ...place }) =>
      expandName(sls, names).map((name) => ({ sls: name, ...place })),
    );
    return [{ expression: read.expression, names: expanded }];
  });
}

/** A name, or all names that a glob means. */
export function expandName(sls: string, names: () => readonly string[]): readonly string[] {
  return /[*?[]/.test(sls) ? names().filter((name) => matchGlob(sls, name)) : [sls];
}

function matcherFor({ peelId, facts, settings }: TopSubject): (expression: ExpandedExpression) => boolean {
  const packer = createFactPacker();
  const view = { id: peelId, facts: packer.pack(facts).facts, settings: packer.pack(settings).facts };
  return (expression) => compileTarget(expression)(view);
}

function readTarget(
  { key, keyAt, value }: YamlEntry,
  file: string,
  problems: Problems,
): TopTarget | undefined {
  const place = { file, line: keyAt.line };
  const items = value.kind === "list" ? value.items : [value];
  let prefix: string | undefined = "";
  const names = items.flatMap((item): Assigned[] => {
    if (item.kind === "scalar" && typeof item.value === "string") {
      return [{ sls: item.value.replaceAll("/", "."), file, line: item.at.line }];
    }
    const [option] = item.kind === "map" ? item.entries : [];
    const word =
      option?.key === "match" && option.value.kind === "scalar" ? String(option.value.value) : undefined;
    if (word === undefined) problems.add("expected names of state files", { file, line: item.at.line });
    else {
      prefix = Object.hasOwn(prefixes, word) ? prefixes[word] : undefined;
      if (prefix === undefined) {
        const known = Object.keys(prefixes);
        problems.add(`match: expected one of ${known.join(", ")}${suggestion(word, known)}`, place);
      }
    }
    return [];
  });
  if (prefix === undefined) return undefined;
  try {
    const expression = parseTarget(`${prefix}${key}`);
    if (isExpanded(expression)) return { expression, names };
    problems.add("node groups are known to the masters alone: use another matcher in a top file", place);
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    problems.add(thrown.message, place);
  }
  return undefined;
}

function isExpanded(expression: Expression): expression is ExpandedExpression {
  return [...matchersOf(expression)].every(({ kind }) => kind !== "group");
}
