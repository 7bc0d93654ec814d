import { StateFailure } from "../../function/mod.ts";

const flagLetters: Readonly<Record<string, string>> = {
  IGNORECASE: "i",
  I: "i",
  MULTILINE: "m",
  M: "m",
  DOTALL: "s",
  S: "s",
  UNICODE: "",
  U: "",
};

/** Flag names that a state may use. */
export const flagNames: readonly string[] = Object.keys(flagLetters);

/**
 * Compiles a regular expression in Python syntax, as used with Salt: named groups `(?P<name>…)`, `\A`, `\Z`,
 * and flags such as `(?i)` at the start.
 *
 * @param flags additional flags for the runtime: `g`
 * @throws StateFailure naming the argument
 */
export function compileExpression(
  argument: string,
  pattern: string,
  names: readonly string[],
  flags = "",
): RegExp {
  const [inline = "", letters = ""] = /^\(\?([aimsux]+)\)/.exec(pattern) ?? [];
  const all = new Set([...flags, ...names.map((name) => flagLetters[name] ?? "").join("")]);
  for (const letter of letters) {
    if (letter === "x") throw new StateFailure(`${argument}: the flag x is not supported`);
    if ("ims".includes(letter)) all.add(letter);
  }
  const body = pattern
    .slice(inline.length)
    .replace(/\\[\s\S]|\(\?P<|\(\?P=(\w+)\)/g, (part, name: string | undefined) => {
      if (part === "(?P<") return "(?<";
      if (name !== undefined) return `\\k<${name}>`;
      if (part === "\\A") return "(?<![\\s\\S])";
      if (part === "\\Z") return "(?![\\s\\S])";
      return part;
    });
  try {
    return new RegExp(body, [...all].join(""));
  } catch (cause) {
    throw new StateFailure(
      `${argument}: ${JSON.stringify(pattern)} is not a valid regular expression`,
      {},
      { cause },
    );
  }
}

/**
 * Expands the replacement of a match: `\1`, `\g<1>` and `\g<name>` stand for groups; `\n` and `\t` are
 * supported.
 *
 * @param match the arguments that the runtime gives to a replacer
 * @throws StateFailure when the group does not exist
 */
export function expandReplacement(template: string, match: readonly unknown[]): string {
  const named = match.at(-1);
  const groups = typeof named === "object" && named !== null ? named : undefined;
  // The groups are followed by the offset of the match, the whole text, and the named groups, if any.
  const byNumber = match.slice(0, groups === undefined ? -2 : -3);
  const groupOf = (key: string): unknown => {
    const isNumber = /^\d+$/.test(key);
    if (isNumber ? Number(key) < byNumber.length : Object.hasOwn(groups ?? {}, key)) {
      return isNumber ? byNumber[Number(key)] : (groups as Record<string, unknown>)[key];
    }
    throw new StateFailure(`repl: the pattern has no group ${key}`);
  };
  const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", "\\": "\\" };
  return template.replace(
    /\\(?:g<(\w+)>|(\d{1,2})|([\s\S]))/g,
    (whole, name?: string, digits?: string, letter = "") => {
      const key = name ?? digits;
      return key === undefined ? (escapes[letter] ?? whole) : String(groupOf(key) ?? "");
    },
  );
}
