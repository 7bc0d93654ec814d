import { arg } from "../../../host/modules/mod.ts";
import { defineState, StateFailure } from "../../function/mod.ts";
import { editArgs, linesOf, planEdit } from "./edit.ts";
import { compileExpression } from "./expression.ts";
import { refuseBackup } from "./plan-file.ts";

interface LineArgs {
  content: string | undefined;
  match: string | undefined;
  mode: string;
  location: string | undefined;
  before: string | undefined;
  after: string | undefined;
  indent: boolean | undefined;
}

export const fileLine = defineState({
  name: "file.line",
  doc: "Ensures that one line of a file is present, replaced or absent. Expressions for the lines around it define its position.",
  args: {
    content: arg.string("The line."),
    mode: arg.string(
      "With ensure, the line is somewhere after, before or between the given lines, and is inserted next to them if missing. With replace, the line replaces each matching line. With insert, the line is directly next to the given lines. With delete, no line matches.",
      { required: true, values: ["ensure", "replace", "insert", "delete"] },
    ),
    match: arg.string(
      "With replace and delete: an expression for the lines to change; lines equal to content by default.",
    ),
    location: arg.string("With insert and ensure: the position in the file.", { values: ["start", "end"] }),
    before: arg.string("With insert and ensure: an expression for the line that follows."),
    after: arg.string("With insert and ensure: an expression for the line that precedes."),
    indent: arg.boolean("Copies the indentation of the adjacent or replaced line; true by default."),
    create: arg.boolean("Creates the file if it does not exist."),
    ...editArgs,
  },
  refuse({ mode, content, match, location, before, after, backup }) {
    if (content?.includes("\n")) return "content: expected one line";
    if (mode === "delete") {
      if (content === undefined && match === undefined) return "mode delete: give match or content";
    } else if (content === undefined) return `mode ${mode}: content is missing`;
    const places = [location, before, after].filter((place) => place !== undefined);
    if ((mode === "insert" || mode === "ensure") && places.length === 0) {
      return `mode ${mode}: give location, before or after`;
    }
    if (location !== undefined && places.length > 1) return "give either location, or before and after";
    return refuseBackup(backup);
  },
  plan(name, args, context) {
    const whenMissing = args.create === true ? "create" : undefined;
    return planEdit({ name, whenMissing, ...args }, context, (text) => {
      const lines = linesOf(text);
      const changed = changeLines(lines, args, name);
      if (changed === lines) return text;
      return changed.length === 0
        ? ""
        : `${changed.join("\n")}${text === "" || text.endsWith("\n") ? "\n" : ""}`;
    });
  },
});

/** @returns the same array when nothing has to change */
function changeLines(lines: string[], args: LineArgs, name: string): string[] {
  const { mode, content = "", indent = true } = args;
  const meant = matcherOf(args);
  if (mode === "delete") return lines.some(meant) ? lines.filter((line) => !meant(line)) : lines;
  if (mode === "replace") {
    const replaced = lines.map((line) => (meant(line) ? indented(content, line, indent) : line));
    return replaced.every((line, at) => line === lines[at]) ? lines : replaced;
  }
  const { at, from, to, beside } = placeOf(lines, args, name);
  const line = indented(content, beside, indent);
  const near =
    mode === "ensure"
      ? lines.slice(from, to)
      : [lines[at - 1], lines[at]].filter((_, side) => isRight(side, args));
  if (near.some((each) => each?.trim() === content.trim())) return lines;
  return [...lines.slice(0, at), line, ...lines.slice(at)];
}

/** Whether a line on this side of the position is where `insert` would have put it: 0 before, 1 after. */
function isRight(side: number, { location, before, after }: LineArgs): boolean {
  return side === (location === "start" || (after !== undefined && before === undefined) ? 1 : 0);
}

function matcherOf({ match, content = "" }: LineArgs): (line: string) => boolean {
  if (match === undefined) return (line) => line.trim() === content.trim();
  const expression = compileExpression("match", match, []);
  return (line) => expression.test(line);
}

interface Place {
  /** The index at which the line is inserted. */
  at: number;
  /** The range in which `ensure` looks for the line. */
  from: number;
  to: number;
  /** The line whose indentation is copied. */
  beside: string;
}

function placeOf(lines: readonly string[], { location, before, after }: LineArgs, name: string): Place {
  const end = lines.length;
  if (location !== undefined) return { at: location === "start" ? 0 : end, from: 0, to: end, beside: "" };
  const first = after === undefined ? -1 : find(lines, "after", after, 0, name);
  const next = before === undefined ? end : find(lines, "before", before, first + 1, name);
  const beside = (after === undefined ? lines[next] : lines[first]) ?? "";
  return { at: before === undefined ? first + 1 : next, from: first + 1, to: next, beside };
}

function find(
  lines: readonly string[],
  argument: string,
  pattern: string,
  from: number,
  name: string,
): number {
  const expression = compileExpression(argument, pattern, []);
  const at = lines.findIndex((line, index) => index >= from && expression.test(line));
  if (at >= 0) return at;
  throw new StateFailure(`${name} has no line that matches ${argument}: ${JSON.stringify(pattern)}`);
}

function indented(content: string, beside: string, indent: boolean): string {
  if (!indent || /^\s/.test(content)) return content;
  const [space = ""] = /^\s*/.exec(beside) ?? [];
  return beside.trim() === "" ? content : `${space}${content}`;
}
