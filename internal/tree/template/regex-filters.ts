import { RE2JS, RE2JSException } from "re2js";
import {
  type Args,
  Fault,
  type Filter,
  type Test,
  Tuple,
  take,
  textOf,
  truthy,
  type Value,
} from "../jinja/mod.ts";

const names = ["rgx", "ignorecase?", "multiline?"] as const;

/**
 * Filters with regular expressions, in RE2 syntax: a pattern may be a fact, and the time that any pattern takes grows
 * only with the length of the text.
 */
export const regexFilters: Readonly<Record<string, Filter>> = {
  regex_search: (value, args) => groupsOf(value, args, "regex_search", false),
  regex_match: (value, args) => groupsOf(value, args, "regex_match", true),
  regex_replace: (value, args, { run }) => {
    const [pattern, replacement, ignoreCase, multiline] = take("regex_replace", args, [
      ...["rgx", "val", "ignorecase?", "multiline?"],
    ]);
    const text = textOf(value);
    const parts = replacementParts(textOf(replacement as Value));
    const matcher = compiled("regex_replace", textOf(pattern as Value), ignoreCase, multiline).matcher(text);
    let [written, from] = ["", 0];
    while (matcher.find()) {
      const filled = parts.map((part) => (typeof part === "string" ? part : (matcher.group(part) ?? "")));
      written += text.slice(from, matcher.start()) + filled.join("");
      from = matcher.end();
      run.budget.make(filled.join("").length + 1);
    }
    return written + text.slice(from);
  },
  regex_escape: (value) => textOf(value).replace(/[^\p{L}\p{N}_]/gu, "\\$&"),
};

const matches =
  (name: string, isAtStart: boolean): Test =>
  (value, args) => {
    const [pattern, ignoreCase, multiline] = take(name, args, names);
    const matcher = compiled(name, textOf(pattern as Value), ignoreCase, multiline).matcher(textOf(value));
    return isAtStart ? matcher.lookingAt() : matcher.find();
  };

export const regexTests: Readonly<Record<string, Test>> = {
  match: matches("match", true),
  search: matches("search", false),
};

/** The groups of the first match, None where there is no match. */
function groupsOf(value: Value, args: Args, name: string, isAtStart: boolean): Value {
  const [pattern, ignoreCase, multiline] = take(name, args, names);
  const matcher = compiled(name, textOf(pattern as Value), ignoreCase, multiline).matcher(textOf(value));
  if (!(isAtStart ? matcher.lookingAt() : matcher.find())) return null;
  return new Tuple(Array.from({ length: matcher.groupCount() }, (_, at) => matcher.group(at + 1) ?? null));
}

/** @throws Fault with the reason */
function compiled(
  name: string,
  pattern: string,
  ignoreCase: Value | undefined,
  multiline: Value | undefined,
): RE2JS {
  const isSet = (flag: Value | undefined) => flag !== undefined && truthy(flag);
  const flags = (isSet(ignoreCase) ? RE2JS.CASE_INSENSITIVE : 0) | (isSet(multiline) ? RE2JS.MULTILINE : 0);
  try {
    return RE2JS.compile(pattern, flags);
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException)) throw thrown;
    const reason = thrown.message.replace(/^error parsing regexp: /, "");
    throw new Fault(`${name}: invalid regular expression: ${reason}`);
  }
}

/** A replacement of Python: `\1` and `\g<1>` are groups. */
function replacementParts(text: string): (string | number)[] {
  const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "\\": "\\" };
  return text.split(/(\\g<\d{1,2}>|\\\d{1,2}|\\[ntr\\])/).map((part) => {
    const [, group] = /^\\(?:g<)?(\d{1,2})>?$/.exec(part) ?? [];
    if (group !== undefined) return Number(group);
    return (part.startsWith("\\") ? escapes[part.slice(1)] : undefined) ?? part;
  });
}
