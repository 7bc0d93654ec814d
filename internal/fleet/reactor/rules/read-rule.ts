import * as v from "valibot";
import { defined } from "../../../base/defined.ts";
import { type NameOf, type Path, type Places, readDocument } from "../../../base/document/read.ts";
import { nameOfRules, ruleName } from "../../../base/document/rules.ts";
import { duration, fields, list, oneOrMore, refuse } from "../../../base/document/schemas.ts";
import { kindOf } from "../../../base/document/written.ts";
import { atLine } from "../../../base/place.ts";
import { functionNamed } from "../../../host/modules/mod.ts";
import { enrollmentTag } from "../events/mod.ts";
import { placeholderRefusals } from "./argument-policy.ts";
import { action } from "./read-action.ts";
import { conditions, maxGlob } from "./read-condition.ts";
import { literal } from "./read-node.ts";
import { type Action, maxRules, type OpenPlace, type RefusedRule, type Rule } from "./rule.ts";
import { patternProblem, sourcePattern } from "./tag-pattern.ts";

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
export function readRules(written: string, file: string): RulesOfFile {
  const document = readDocument(written, file, rulesFile(), nameOf);
  const rules: Rule[] = [];
  const refused: RefusedRule[] = [];
  for (const [index, given] of (document.value?.rules ?? []).entries()) {
    const { name, unsafe, do: actions } = given;
    const at = document.at(["rules", index]);
    const open = actions.flatMap((each, item) =>
      openPlaces(each, ["rules", index, "do", item, each.kind, "args"], document, file),
    );
    if (unsafe !== true && open.length > 0) {
      refused.push({ name, places: open, file, at });
      continue;
    }
    rules.push({
      name,
      match: given.match,
      ...defined({ source: given.source, throttleMs: given.throttle }),
      when: given.when ?? [],
      actions: unsafe === true ? actions.map(trusting) : actions,
      ...(unsafe === true ? { unsafe: open } : {}),
      file,
      at,
    });
  }
  return { rules, refused };
}

const trusting = (each: Action): Action => (each.kind === "job" ? { ...each, unsafe: true } : each);

/** Where a job takes event data in an argument that may not have it. */
function openPlaces(each: Action, path: Path, document: Places, file: string): OpenPlace[] {
  if (each.kind !== "job") return [];
  const called = functionNamed(each.function);
  return Object.keys(each.args).flatMap((name) =>
    placeholderRefusals(called, name, each.args).map(({ item, reason }) => {
      const inside = [...path, name];
      const { line } = document.at(item === undefined ? inside : [...inside, item]);
      return { line, text: `${atLine(file, line)}: ${document.nameOf(inside)}: ${reason}` };
    }),
  );
}

const nameOfRule = nameOfRules(String);
/** The path of a condition has dots, so it is quoted. */
const nameOf: NameOf = (path, valueAt) =>
  nameOfRule(
    path.map((key, at) => (at === 3 && path[2] === "when" ? JSON.stringify(String(key).slice(0, 80)) : key)),
    valueAt,
  );

/** What a file of rules may hold. */
export function rulesFile() {
  return v.nullable(fields({ rules: v.exactOptional(v.nullable(list(rule(), maxRules))) }));
}

function rule() {
  const tag = v.pipe(literal(maxPatternLength), refuse(patternProblem));
  const source = v.pipe(
    literal(maxGlob),
    v.regex(sourcePattern, "expected a glob on peel ids, such as web*"),
  );
  const actions = v.pipe(
    v.array(action(), ({ input }) => `expected a list of actions, found ${kindOf(input)}: start each with -`),
    v.minLength(1, "expected at least one action"),
    v.maxLength(maxActions, `more than ${maxActions} items`),
  );
  return v.pipe(
    fields(
      {
        name: ruleName(),
        match: oneOrMore(tag, maxPatterns, "expected a glob on tags, such as disk/full or svc/**"),
        source: v.exactOptional(source),
        when: v.exactOptional(conditions()),
        throttle: v.exactOptional(duration(0, maxThrottleMs)),
        unsafe: v.exactOptional(v.boolean()),
        do: actions,
      },
      { missing: (key) => `${key} is missing` },
    ),
    refuse(({ match, do: all }) => {
      const at = all.findIndex(({ kind }) => kind === "approve");
      if (at < 0 || match.every((pattern) => pattern === enrollmentTag)) return undefined;
      return { message: `approve is only for rules with match: ${enrollmentTag}`, at: ["do", at] };
    }),
  );
}
