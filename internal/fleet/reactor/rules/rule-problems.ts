import { SvcError } from "../../../base/errors.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { formatYaml } from "../../../base/yaml/yaml.ts";
import { readRules } from "./read-rule.ts";

/** Why masters would not accept a rule, without a place: the rule is not in a file yet. Empty when they would. */
export function ruleProblems(rule: Readonly<Record<string, Plain>>): string[] {
  try {
    const { refused } = readRules(formatYaml({ rules: [rule] }), "rule");
    return refused.flatMap(({ places }) => places.map(({ text }) => withoutPlace(text)));
  } catch (thrown) {
    if (thrown instanceof SvcError) return [withoutPlace(thrown.message)];
    throw thrown;
  }
}

function withoutPlace(message: string): string {
  return message.replace(/^rule(?::\d+)*: (?:rule [^:]*: )?/, "");
}
