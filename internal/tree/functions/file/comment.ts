import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import { defineState, StateFailure } from "../../function/mod.ts";
import { editArgs, linesOf, planEdit } from "./edit.ts";
import { compileExpression } from "./expression.ts";
import { refuseBackup } from "./plan-file.ts";

const args = {
  regex: arg.string(
    "Finds the lines, without the comment mark. A leading ^ and a trailing $ stand for the ends of the line.",
    { required: true },
  ),
  char: arg.string("The comment mark; # by default."),
  ignore_missing: arg.boolean("Succeeds if no line matches; false by default."),
  ...editArgs,
} as const satisfies Record<string, ArgSpec>;

export const fileComment = defineState({
  name: "file.comment",
  doc: "Comments out the lines that match a regular expression.",
  args,
  refuse: refuseMark,
  plan(name, args, context) {
    const { char = "#" } = args;
    const { active, commented } = expressionsOf(args.regex, char);
    return planEdit({ name, ...args }, context, (text) => {
      requireMatch(name, args, [active, commented], text);
      return mapLines(text, (line) =>
        active.test(line) && !isComment(line, char) ? `${char}${line}` : line,
      );
    });
  },
});

export const fileUncomment = defineState({
  name: "file.uncomment",
  doc: "Removes the comment mark of the lines that match a regular expression.",
  args,
  refuse: refuseMark,
  plan(name, args, context) {
    const { active, commented } = expressionsOf(args.regex, args.char ?? "#");
    return planEdit({ name, ...args }, context, (text) => {
      requireMatch(name, args, [active, commented], text);
      return mapLines(text, (line) => {
        const [, indent = "", rest] = commented.exec(line) ?? [];
        return rest === undefined ? line : `${indent}${rest}`;
      });
    });
  },
});

function refuseMark({ char, backup }: { char: string | undefined; backup: string | undefined }) {
  return char === "" ? "char: must not be empty" : refuseBackup(backup);
}

/** The line as the expression describes it, and the same line behind a comment mark. */
function expressionsOf(regex: string, char: string): { active: RegExp; commented: RegExp } {
  const [, start = "", body = "", end = ""] = /^(\^?)([\s\S]*?)(\$?)$/.exec(regex) ?? [];
  // A `\$` at the end is the character.
  const anchored = end === "$" && !/(?:^|[^\\])(?:\\\\)*\\$/.test(body);
  const inner = anchored ? body : `${body}${end}`;
  const tail = anchored ? "$" : "";
  // An expression without ^ may match anywhere in the line, also behind the mark.
  const before = start === "^" ? "" : ".*?";
  return {
    active: compileExpression("regex", `${start}(?:${inner})${tail}`, []),
    commented: compileExpression(
      "regex",
      `^(\\s*)${RegExp.escape(char)}\\s*(${before}(?:${inner})${anchored ? "" : ".*"})$`,
      [],
    ),
  };
}

function isComment(line: string, char: string): boolean {
  return line.trimStart().startsWith(char);
}

function requireMatch(
  name: string,
  { regex, ignore_missing }: { regex: string; ignore_missing: boolean | undefined },
  expressions: readonly RegExp[],
  text: string,
): void {
  if (ignore_missing === true) return;
  if (linesOf(text).some((line) => expressions.some((each) => each.test(line)))) return;
  throw new StateFailure(
    `${name} has no line that matches ${JSON.stringify(regex)}; set ignore_missing: true if that is fine`,
  );
}

function mapLines(text: string, change: (line: string) => string): string {
  return text.split("\n").map(change).join("\n");
}
