import { SvcError } from "../../base/errors.ts";
import { type Filter, type Test, take, textOf } from "../jinja/mod.ts";
import { Fault, Tuple, truthy, type Value } from "../jinja/values/mod.ts";
import { compileSearch, type Search } from "../targets/mod.ts";

const names = ["rgx", "ignorecase?", "multiline?"] as const;

/**
 * Filters with regular expressions, in RE2 syntax: a pattern may be a fact, and the time that any pattern takes grows
 * only with the length of the text.
 */
export const regexFilters: Readonly<Record<string, Filter>> = {
  regex_search: (value, args) => {
    const [first] = searchOf("regex_search", take("regex_search", args, names)).all(textOf(value));
    return groupsOf(first?.groups);
  },
  regex_match: (value, args) =>
    groupsOf(searchOf("regex_match", take("regex_match", args, names)).atStart(textOf(value))?.groups),
  regex_replace: (value, args, { run }) => {
    const [pattern, replacement, ...flags] = take("regex_replace", args, [
      ...["rgx", "val", "ignorecase?", "multiline?"],
    ]);
    const text = textOf(value);
    const parts = replacementParts(textOf(replacement as Value));
    let [written, last] = ["", 0];
    for (const { from, to, groups } of searchOf("regex_replace", [pattern, ...flags]).all(text)) {
      const filled = parts.map((part) => (typeof part === "string" ? part : (groups[part] ?? ""))).join("");
      run.budget.make(filled.length + 1);
      written += text.slice(last, from) + filled;
      last = to;
    }
    return written + text.slice(last);
  },
  regex_escape: (value) => {
    // One character for each byte, and back.
    if (value instanceof Uint8Array)
      return Buffer.from(escapePattern(Buffer.from(value).toString("latin1")), "latin1");
    return escapePattern(textOf(value));
  },
};

/** A pattern that stands for a text, as `re.escape` of Python writes it. */
function escapePattern(text: string): string {
  return text.replace(/[()[\]{}?*+\-|^$\\.&~# \t\n\r\v\f]/g, "\\$&");
}

export const regexTests: Readonly<Record<string, Test>> = {
  match: (value, args) => searchOf("match", take("match", args, names)).atStart(textOf(value)) !== undefined,
  search: (value, args) => {
    const [first] = searchOf("search", take("search", args, names)).all(textOf(value));
    return first !== undefined;
  },
};

/** The groups of a match, None where there is none. */
function groupsOf(groups: readonly (string | undefined)[] | undefined): Value {
  return groups === undefined ? null : new Tuple(groups.slice(1).map((group) => group ?? null));
}

/** @throws Fault with the reason */
function searchOf(name: string, [pattern, ignoreCase, multiline]: readonly (Value | undefined)[]): Search {
  const isSet = (flag: Value | undefined) => flag !== undefined && truthy(flag);
  try {
    return compileSearch(textOf(pattern as Value), {
      ignoreCase: isSet(ignoreCase),
      multiline: isSet(multiline),
    });
  } catch (thrown) {
    if (thrown instanceof SvcError) throw new Fault(`${name}: ${thrown.message}`);
    throw thrown;
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
