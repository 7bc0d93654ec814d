import { examineNode } from "../../base/document/read.ts";
import { mapOf } from "../../base/document/schemas.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { suggestion } from "../../base/nearest.ts";
import type { YamlNode } from "../../base/yaml/yaml.ts";
import type { Place, Problems } from "../function/mod.ts";
import {
  compileTarget,
  createFactPacker,
  type ExpandedExpression,
  type Expression,
  type FactMap,
  matchersOf,
  matchGlob,
  parseTarget,
  topExpression,
  topSection,
  type Way,
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

const ways: readonly Way[] = ["compound", "glob", "pcre", "list", "grain", "grain_pcre", "pillar"];

/** What the section of an environment may hold: targets and their state files. */
const section = () =>
  topSection(ways, {
    targets: "expected a map from targets to state files",
    item: "expected names of state files",
    way: (word) => `match: expected one of ${ways.join(", ")}${suggestion(word, ways)}`,
  });

/** What a top file may hold: environments, and in each its targets. */
export function statesTop() {
  return mapOf(section());
}

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
  matches: (expression: ExpandedExpression) => boolean,
  problems: Problems,
): Assigned[] {
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
  top: Pick<RenderedFile, "path" | "root">,
  environment: string,
  names: () => readonly string[],
  problems: Problems,
): TopTarget[] {
  const at = (node: YamlNode): Place => ({ file: top.path, line: node.at.line });
  if (top.root.kind !== "map") {
    problems.add("expected a map of environments in a top file, such as base", at(top.root));
    return [];
  }
  const found = top.root.entries.find(({ key }) => key === environment);
  if (found === undefined) {
    const near = suggestion(
      environment,
      top.root.entries.map(({ key }) => key),
    );
    problems.add(`no section for the environment ${environment}${near}`, at(top.root));
    return [];
  }
  const read = examineNode(found.value, section());
  if ("problems" in read) {
    for (const { message, at: place } of read.problems)
      problems.add(message, { file: top.path, line: place.line });
    return [];
  }
  const { document } = read;
  return [...document.value].flatMap(([target, items]) => {
    const place = { file: top.path, line: document.keyAt([target]).line };
    const expression = expressionOf(topExpression(target, items), place, problems);
    if (expression === undefined) return [];
    const assigned = items.flatMap((item, number) =>
      typeof item !== "string"
        ? []
        : expandName(item.replaceAll("/", "."), names).map((sls) => ({
            ...{ sls, file: top.path, line: document.at([target, number]).line },
          })),
    );
    return [{ expression, names: assigned }];
  });
}

/** Returns a name itself, or all names that match a glob. */
export function expandName(sls: string, names: () => readonly string[]): readonly string[] {
  return /[*?[]/.test(sls) ? names().filter((name) => matchGlob(sls, name)) : [sls];
}

/** Whether a peel is a target. */
export function matcherFor({
  peelId,
  facts,
  settings,
  labels = {},
}: TopSubject): (expression: ExpandedExpression) => boolean {
  const packer = createFactPacker();
  let [packedFacts, packedSettings]: (FactMap | undefined)[] = [];
  const view = {
    ...{ id: peelId, labels },
    get facts() {
      packedFacts ??= packer.pack(facts).facts;
      return packedFacts;
    },
    get settings() {
      packedSettings ??= packer.pack(settings).facts;
      return packedSettings;
    },
  };
  return (expression) => compileTarget(expression)(view);
}

function expressionOf(text: string, place: Place, problems: Problems): ExpandedExpression | undefined {
  try {
    const expression = parseTarget(text);
    if (isExpanded(expression)) return expression;
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
