import { arg } from "../../../host/modules/mod.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { findSource, refuseSource } from "../sources/source.ts";
import { environmentVariables } from "../sources/template-variables.ts";
import { editArgs, linesFor, linesOf, planEdit, textOfLines } from "./edit.ts";
import { compileExpression } from "./expression.ts";
import { rendered, templateArgs } from "./managed.ts";
import { refuseBackup } from "./plan-file.ts";

export const fileBlockreplace = defineState({
  name: "file.blockreplace",
  doc: "Ensures that a file has these lines between two marker lines.",
  args: {
    marker_start: arg.string("Text in the line before the block; #-- start managed zone -- by default."),
    marker_end: arg.string("Text in the line after the block; #-- end managed zone -- by default."),
    content: arg.strings("The lines of the block; empty by default."),
    source: arg.string("Source of the lines, instead of content: svc://path, salt://path."),
    ...templateArgs,
    append_if_not_found: arg.boolean("Appends the markers and the block if they are missing."),
    prepend_if_not_found: arg.boolean("Inserts them before the first line instead."),
    insert_before_match: arg.string("Inserts them before the first line that matches this expression."),
    insert_after_match: arg.string("Inserts them after the first line that matches this expression."),
    ...editArgs,
  },
  refuse(args) {
    const places = [
      "append_if_not_found",
      "prepend_if_not_found",
      "insert_before_match",
      "insert_after_match",
    ] as const;
    const given = places.filter((place) => args[place] !== undefined && args[place] !== false);
    if (given.length > 1) return `give only one of ${given.join(", ")}`;
    if (args.content !== undefined && args.source !== undefined) return "give only one of content, source";
    if ([args.marker_start, args.marker_end].some((marker) => marker === "" || marker?.includes("\n"))) {
      return "marker_start and marker_end: expected text without a line break";
    }
    return (
      refuseSource(args.source === undefined ? [] : [args.source], undefined) ?? refuseBackup(args.backup)
    );
  },
  async plan(name, args, context) {
    const { template, defaults, context: variables } = args;
    const given =
      args.source === undefined
        ? { size: undefined, bytes: () => Buffer.from((args.content ?? []).join("\n")) }
        : findSource([args.source], undefined, context).content;
    const content =
      template === undefined
        ? given
        : await rendered(
            args.source ?? "content",
            given,
            { ...environmentVariables(context), ...defaults, ...variables },
            context,
          );
    const block = linesOf(Buffer.from(await content.bytes()).toString("utf8"));
    const start = args.marker_start ?? "#-- start managed zone --";
    const end = args.marker_end ?? "#-- end managed zone --";
    return planEdit({ name, ...args }, context, (text) => {
      const lines = linesOf(text);
      const from = lines.findIndex((line) => line.includes(start));
      if (from >= 0) {
        const length = lines.slice(from + 1).findIndex((line) => line.includes(end));
        if (length < 0)
          throw new StateFailure(`${name} has the start marker without the end marker after it`);
        lines.splice(from + 1, length, ...linesFor(text, block));
        return sameEnd(text, lines);
      }
      if (lines.some((line) => line.includes(end))) {
        throw new StateFailure(`${name} has the end marker without the start marker before it`);
      }
      lines.splice(placeIn(lines, args, name), 0, start, ...linesFor(text, block), end);
      return textOfLines(lines);
    });
  },
});

/** The Ansible name of this function. */
export const fileBlockinfile: StateFunction = {
  ...fileBlockreplace,
  name: "file.blockinfile",
  doc: "Alias of file.blockreplace.",
};

function placeIn(
  lines: readonly string[],
  args: {
    append_if_not_found: boolean | undefined;
    prepend_if_not_found: boolean | undefined;
    insert_before_match: string | undefined;
    insert_after_match: string | undefined;
  },
  name: string,
): number {
  if (args.append_if_not_found === true) return lines.length;
  if (args.prepend_if_not_found === true) return 0;
  const before = args.insert_before_match !== undefined;
  const argument = before ? "insert_before_match" : "insert_after_match";
  const pattern = args[argument];
  if (pattern === undefined) {
    throw new StateFailure(`${name} has no markers; set append_if_not_found: true to add them`);
  }
  const expression = compileExpression(argument, pattern, []);
  const at = lines.findIndex((line) => expression.test(line));
  if (at < 0) throw new StateFailure(`${name} has no markers, and no line matches ${argument}`);
  return before ? at : at + 1;
}

function sameEnd(before: string, lines: readonly string[]): string {
  return before.endsWith("\n") ? textOfLines(lines) : lines.join("\n");
}
