import * as v from "valibot";
import { ruleNameForm } from "../names/names.ts";
import { keysOf, type NameOf } from "./read.ts";
import { text } from "./schemas.ts";

/** The name of a rule. */
export function ruleName() {
  return v.pipe(
    text(64),
    v.regex(ruleNameForm, "expected letters, digits, -, _ and dots, with a letter or digit first"),
  );
}

/**
 * What messages call a value in the list `rules`: the rule by its name, then the keys in it. A rule whose name is
 * wrong has its number.
 *
 * @param unnamed what a rule without a name is called
 */
export function nameOfRules(unnamed: (number: number) => string): NameOf {
  return (path, valueAt) => {
    const [first, index, ...rest] = path;
    if (first !== "rules" || typeof index !== "number") return keysOf(path);
    const rule = valueAt(["rules", index]);
    const name = (rule instanceof Map ? rule.get("name") : undefined) ?? unnamed(index + 1);
    const isName = typeof name === "string" && ruleNameForm.test(name);
    return [`rule ${isName ? name : index + 1}`, ...keysOf(rest)];
  };
}
