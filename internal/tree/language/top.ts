import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { suggestion } from "../../base/nearest.ts";
import type { YamlEntry, YamlNode } from "../../base/yaml.ts";
import type { Place, Problems } from "../function/mod.ts";
import {
  compileTarget,
  createFactPacker,
  type ExpandedExpression,
  type Expression,
  matchersOf,
  matchGlob,
  parseTarget,
} from "../targets/mod.ts";
import type { RenderedFile } from "./render.ts";

/** The peel that a top file is evaluated for. */
export interface TopSubject {
  /** Encoded peel id. */
  peelId: string;
  facts: Plain;
  settings: Plain;
  labels?: Readonly<Record<string, string>>;
}

/** A state file assigned by a top file. */
export type Assigned = { sls: string } & Place;

/** The matcher for each value of Salt's `- match:`. */
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
 * Returns the state files that a top file assigns to a peel, in file order, each once.
 *
 * @param environment whose section applies
 * @param names all existing state files, for globs
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

/** Returns every target of a top file, regardless of what it matches. Adds every error to `problems`. */
export function targetsOf(
  top: RenderedFile,
  environment: string,
  names: () => readonly string[],
  problems: Problems,
): TopTarget[] {
  const at = (node: YamlNode): Place => ({ file: top.path, line: node.at.line });
  if (top.root.kind !== "map") {
    problems.add("expected a map of environments in a top file, such as base", at(top.root));
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
    problems.add("expected a map from targets to state files", {
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

/** Returns a name itself, or all names that match a glob. */
export function expandName(sls: string, names: () => readonly string[]): readonly string[] {
  return /[*?[]/.test(sls) ? names().filter((name) => matchGlob(sls, name)) : [sls];
}

function matcherFor({
  peelId,
  facts,
  settings,
  labels = {},
}: TopSubject): (expression: ExpandedExpression) => boolean {
  const packer = createFactPacker();
  const view = { id: peelId, facts: packer.pack(facts).facts, settings: packer.pack(settings).facts, labels };
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
    problems.add("node groups are known only to masters: use another matcher in a top file", place);
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    problems.add(thrown.message, place);
  }
  return undefined;
}

function isExpanded(expression: Expression): expression is ExpandedExpression {
  return [...matchersOf(expression)].every(({ kind }) => kind !== "group");
}
