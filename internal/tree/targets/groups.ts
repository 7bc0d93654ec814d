import * as v from "valibot";
import { readDocument } from "../../base/document/read.ts";
import { mapOf } from "../../base/document/schemas.ts";
import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import { atColumn } from "../../base/place.ts";
import { type ExpandedExpression, type Expression, type Matcher, matchersOf } from "./expression.ts";
import { groupName, parseTarget } from "./parse.ts";

/** Node groups by name, with nested groups expanded. */
export type Groups = ReadonlyMap<string, ExpandedExpression>;

/** Maximum number of matchers in an expanded expression, which are evaluated on every peel. */
const maxExpanded = 1024;

/**
 * Replaces `N@` matchers with their node groups.
 *
 * @param name the name of the expression in messages
 * @throws SvcError `bad_request` for an unknown group or an expression that becomes too large
 */
export function expandGroups(expression: Expression, groups: Groups, name = "target"): ExpandedExpression {
  const expanded = replaceGroups(expression, (matcher) => {
    const group = groups.get(matcher.name);
    if (group === undefined) throw unknownGroup(matcher, [...groups.keys()], name);
    return group;
  });
  let count = 0;
  for (const _ of matchersOf(expanded)) {
    if (++count > maxExpanded) {
      throw new SvcError(
        "bad_request",
        `${name}: more than ${maxExpanded} matchers after expanding node groups`,
      );
    }
  }
  return expanded;
}

/** What a file of node groups may hold: expressions by the names of groups. */
export function groupsFile() {
  const another = () => "expected a map of group names to target expressions";
  const name = v.pipe(
    v.string(),
    v.regex(groupName, "invalid group name: use at most 64 letters, digits, dots, hyphens and underscores"),
  );
  return v.nullable(mapOf(v.string("expected a target expression"), name, another));
}

/**
 * Reads a file of node groups, which may refer to each other in any order.
 *
 * @param name the name of the file in messages
 * @throws SvcError `bad_request`: `<name>:<line>:<column>: <reason>`
 */
export function readGroups(written: string, name: string): Groups {
  const document = readDocument(written, name, groupsFile(), (path) => path.map((group) => `group ${group}`));
  const parsed = new Map<string, { expression: Expression; label: string }>();
  for (const [key, text] of document.value ?? []) {
    const label = `${atColumn(name, document.at([key]))}: group ${key}`;
    parsed.set(key, { expression: parseTarget(text, label), label });
  }

  const groups = new Map<string, ExpandedExpression>();
  const trail: string[] = [];
  const build = (key: string, entry: { expression: Expression; label: string }): ExpandedExpression => {
    const done = groups.get(key);
    if (done !== undefined) return done;
    trail.push(key);
    const references = new Map<string, ExpandedExpression>();
    for (const matcher of matchersOf(entry.expression)) {
      if (matcher.kind !== "group") continue;
      const next = parsed.get(matcher.name);
      if (next === undefined) throw unknownGroup(matcher, [...parsed.keys()], entry.label);
      const at = trail.indexOf(matcher.name);
      if (at >= 0) {
        const cycle = [...trail.slice(at), matcher.name].join(" -> ");
        throw new SvcError("bad_request", `${entry.label}: refers to itself: ${cycle}`);
      }
      references.set(matcher.name, build(matcher.name, next));
    }
    trail.pop();
    const expression = expandGroups(entry.expression, references, entry.label);
    groups.set(key, expression);
    return expression;
  };
  for (const [key, entry] of parsed) build(key, entry);
  return groups;
}

type GroupMatcher = Extract<Matcher, { kind: "group" }>;

function replaceGroups(
  expression: Expression,
  replace: (group: GroupMatcher) => ExpandedExpression,
): ExpandedExpression {
  switch (expression.kind) {
    case "and":
    case "or":
      return { kind: expression.kind, terms: expression.terms.map((term) => replaceGroups(term, replace)) };
    case "not":
      return { kind: "not", term: replaceGroups(expression.term, replace) };
    case "group":
      return replace(expression);
    default:
      return expression;
  }
}

function unknownGroup({ name: group, at }: GroupMatcher, known: readonly string[], name: string): SvcError {
  const hint = suggestion(group, known);
  return new SvcError("bad_request", `${name}: column ${at}: unknown node group ${group}${hint}`);
}
