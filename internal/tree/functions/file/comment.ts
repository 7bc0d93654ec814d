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
    const meaning = meaningOf(args.regex, char);
    return planEdit({ name, ...args }, context, (text) => {
      requireMatch(name, args, meaning, text);
      return mapLines(text, (line) =>
        meaning.isActive(line) && !isComment(line, char) ? `${char}${line}` : line,
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
    const meaning = meaningOf(args.regex, args.char ?? "#");
    return planEdit({ name, ...args }, context, (text) => {
      requireMatch(name, args, meaning, text);
      return mapLines(text, (line) => meaning.withoutMark(line) ?? line);
    });
  },
});

function refuseMark({ char, backup }: { char: string | undefined; backup: string | undefined }) {
  return char === "" ? "char: must not be empty" : refuseBackup(backup);
}

interface Meaning {
  /** Whether a line is as the expression describes it. */
  isActive(line: string): boolean;
  /** The line without its comment mark; `undefined` without one, and for one that is not described behind it. */
  withoutMark(line: string): string | undefined;
}

function meaningOf(regex: string, char: string): Meaning {
  const expression = compileExpression("regex", regex, []);
  return {
    isActive: (line) => expression.test(line),
    withoutMark(line) {
      const body = line.trimStart();
      if (!body.startsWith(char)) return undefined;
      const indent = line.slice(0, line.length - body.length);
      const rest = body.slice(char.length);
      // White space behind the mark belongs to the mark, unless the expression describes it.
      for (let spaces = rest.length - rest.trimStart().length; spaces >= 0; spaces--) {
        if (expression.test(rest.slice(spaces))) return `${indent}${rest.slice(spaces)}`;
      }
      return undefined;
    },
  };
}

function isComment(line: string, char: string): boolean {
  return line.trimStart().startsWith(char);
}

function requireMatch(
  name: string,
  { regex, ignore_missing }: { regex: string; ignore_missing: boolean | undefined },
  { isActive, withoutMark }: Meaning,
  text: string,
): void {
  if (ignore_missing === true) return;
  if (linesOf(text).some((line) => isActive(line) || withoutMark(line) !== undefined)) return;
  throw new StateFailure(
    `${name} has no line that matches ${JSON.stringify(regex)}; set ignore_missing: true if that is fine`,
  );
}

function mapLines(text: string, change: (line: string) => string): string {
  const changed = linesOf(text).map(change).join("\n");
  return text.endsWith("\n") ? `${changed}\n` : changed;
}
