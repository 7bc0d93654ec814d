import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import { defineState, type StateContext } from "../../function/mod.ts";
import { findSource, refuseSource } from "../sources/source.ts";
import { environmentVariables } from "../sources/template-variables.ts";
import { editArgs, linesFor, linesOf, planEdit, textOfLines } from "./edit.ts";
import { rendered, templateArgs } from "./managed.ts";
import { makedirsArg } from "./parents.ts";
import { refuseBackup } from "./plan-file.ts";

const args = {
  text: arg.strings("The lines. An item may contain several lines."),
  source: arg.string("Source of the lines, instead of text: svc://path, salt://path."),
  ...templateArgs,
  makedirs: makedirsArg,
  ignore_whitespace: arg.boolean("Ignores differences in white space when comparing lines; true by default."),
  ...editArgs,
} as const satisfies Record<string, ArgSpec>;

interface Lines {
  text: string[] | undefined;
  source: string | undefined;
  template: string | undefined;
  context: Record<string, unknown> | undefined;
  defaults: Record<string, unknown> | undefined;
  backup: string | undefined;
}

export const fileAppend = defineState({
  name: "file.append",
  doc: "Ensures that a file contains these lines. Missing lines are appended. The file is created if it does not exist.",
  args,
  refuse: refuseLines,
  async plan(name, args, context) {
    const given = await givenLines(args, context);
    return planEdit({ name, whenMissing: "create", ...args }, context, (text) => {
      const wanted = linesFor(text, given);
      const missing = missingFrom(text, wanted, args.ignore_whitespace);
      if (missing.length === 0) return text;
      const start = text === "" || text.endsWith("\n") ? text : `${text}\n`;
      return `${start}${textOfLines(missing)}`;
    });
  },
});

export const filePrepend = defineState({
  name: "file.prepend",
  doc: "Ensures that a file contains these lines. Missing lines are inserted before the first line. The file is created if it does not exist.",
  args: {
    ...args,
    header: arg.boolean("Requires that the lines are the first lines of the file; false by default."),
  },
  refuse: refuseLines,
  async plan(name, args, context) {
    const given = await givenLines(args, context);
    return planEdit({ name, whenMissing: "create", ...args }, context, (text) => {
      const wanted = linesFor(text, given);
      const key = keyOf(args.ignore_whitespace);
      const first = linesOf(text).slice(0, wanted.length);
      const isHead =
        first.length === wanted.length && wanted.every((line, at) => key(line) === key(first[at] ?? ""));
      if (args.header === true) return isHead ? text : `${textOfLines(wanted)}${text}`;
      return `${textOfLines(missingFrom(text, wanted, args.ignore_whitespace))}${text}`;
    });
  },
});

function refuseLines({
  text,
  source,
  backup,
}: Pick<Lines, "text" | "source" | "backup">): string | undefined {
  if ((text === undefined) === (source === undefined)) return "give either text or source";
  return refuseSource(source === undefined ? [] : [source], undefined) ?? refuseBackup(backup);
}

async function givenLines(
  { text, source, template, context: variables, defaults }: Lines,
  context: StateContext,
): Promise<string[]> {
  if (text !== undefined && template === undefined) return text.flatMap(linesOf);
  const found =
    source === undefined
      ? { name: "text", content: { size: undefined, bytes: () => Buffer.from((text ?? []).join("\n")) } }
      : findSource([source], undefined, context);
  const content =
    template === undefined
      ? found.content
      : await rendered(
          found.name,
          found.content,
          { ...environmentVariables(context), ...defaults, ...variables } as Parameters<typeof rendered>[2],
          context,
        );
  return linesOf(Buffer.from(await content.bytes()).toString("utf8"));
}

function missingFrom(
  text: string,
  wanted: readonly string[],
  ignoreWhitespace: boolean | undefined,
): string[] {
  const key = keyOf(ignoreWhitespace);
  const there = new Set(linesOf(text).map(key));
  return wanted.filter((line) => !there.has(key(line)));
}

function keyOf(ignoreWhitespace = true): (line: string) => string {
  return ignoreWhitespace ? (line) => line.trim().replace(/\s+/g, " ") : (line) => line;
}
