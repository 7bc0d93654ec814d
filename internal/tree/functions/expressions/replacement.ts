import { ExpressionError } from "./cursor.ts";
import type { Translated } from "./python-expression.ts";

const controls: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
};

const form = /\\(?:g<([^>]*)>|(0[0-7]{0,2}|[1-3][0-7]{2})|([1-9][0-9]?)|([\s\S]?))/gu;

/**
 * Reads the replacement of an expression as Python does: `\1`, `\g<1>` and `\g<name>` are groups, `\n` and the like
 * characters.
 *
 * @returns what replaces a match, from its groups, the first one for the whole
 * @throws ExpressionError for a group that does not exist, and for an escape that Python refuses
 */
export function readReplacement(
  template: string,
  { names, groups, forgotten }: Translated,
): (match: readonly (string | undefined)[]) => string {
  const parts: (string | number)[] = [];
  let at = 0;
  for (const found of template.matchAll(form)) {
    parts.push(template.slice(at, found.index));
    at = found.index + found[0].length;
    const [whole, named, octal, digits, letter = ""] = found;
    if (octal !== undefined) parts.push(String.fromCharCode(Number.parseInt(octal, 8)));
    else if (named !== undefined || digits !== undefined) parts.push(groupOf(named ?? digits ?? ""));
    else if (letter === "" || /^[A-Za-z]$/.test(letter)) {
      const control = controls[letter];
      if (control === undefined)
        throw new ExpressionError(`bad escape ${whole}; backslash_literal: true uses it as it is`);
      parts.push(control);
    } else parts.push(controls[letter] ?? whole);
  }
  parts.push(template.slice(at));
  return (match) => parts.map((part) => (typeof part === "number" ? (match[part] ?? "") : part)).join("");

  function groupOf(key: string): number {
    const number = /^\d+$/.test(key) ? Number(key) : names.get(key);
    if (number === undefined || number > groups) throw new ExpressionError(`the pattern has no group ${key}`);
    if (!forgotten.has(number)) return number;
    throw new ExpressionError(
      `group ${key} is in a part that is repeated and may be empty, and its value is not supported`,
    );
  }
}
