import { SvcError } from "../../../base/errors.ts";
import { encodePeelId } from "../../../base/names/peel-id.ts";
import { textOf } from "../../jinja/mod.ts";
import { Fault, toPlain, type Value } from "../../jinja/values/mod.ts";
import {
  compileTarget,
  createFactPacker,
  type ExpandedExpression,
  type Expression,
  matchersOf,
  parseTarget,
} from "../../targets/mod.ts";
import type { SaltTools } from "./function.ts";

/** What is written in front of a target of a kind. */
const prefixes = {
  compound: "",
  glob: "",
  pcre: "E@",
  list: "L@",
  grain: "G@",
  grain_pcre: "P@",
  pillar: "I@",
  pillar_exact: "I@",
} as const;

/** The kinds of targets that `match` knows. */
export const targetKinds = Object.keys(prefixes) as readonly (keyof typeof prefixes)[];

/** Whether the peel is a target. @param id of another peel; None for this one @throws Fault */
export function matchesTarget(target: string, kind: string, id: Value, tools: SaltTools): boolean {
  const known = targetKinds.find((each) => each === kind);
  if (known === undefined) throw new Fault(`match: unknown kind of target: use ${targetKinds.join(", ")}`);
  const expression = read(`${prefixes[known]}${target}`);
  const packer = createFactPacker();
  if (tools.matches !== undefined) {
    return tools.matches(expression, id === null ? undefined : encodePeelId(textOf(id)));
  }
  const shown = id === null ? tools.facts().get("id") : id;
  const peelId = encodePeelId(textOf(shown ?? ""));
  const { labels } = tools;
  return compileTarget(expression)({
    id: peelId,
    labels,
    get facts() {
      return packer.pack(toPlain(tools.facts())).facts;
    },
    get settings() {
      return packer.pack(toPlain(tools.shownSettings())).facts;
    },
  });
}

function read(target: string): ExpandedExpression {
  let expression: Expression;
  try {
    expression = parseTarget(target);
  } catch (thrown) {
    if (thrown instanceof SvcError) throw new Fault(`match: ${thrown.message}`);
    throw thrown;
  }
  if (isExpanded(expression)) return expression;
  throw new Fault("match: node groups are known only to masters");
}

function isExpanded(expression: Expression): expression is ExpandedExpression {
  return [...matchersOf(expression)].every(({ kind }) => kind !== "group");
}
