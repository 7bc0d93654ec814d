import type { ArgDef, ArgsDef } from "citty";
import { childrenOf, isRest, metaOf } from "./command.ts";
import { globalArgs } from "./globals.ts";
import { type Found, isRequired } from "./parse.ts";

/** Writes how a command is used: what `--help` shows. */
export async function formatUsage({ command, path }: Pick<Found, "command" | "path">): Promise<string> {
  const children = await childrenOf(command);
  const args = Object.entries((command.args ?? {}) as ArgsDef);
  const positionals = args.filter(([, { type }]) => type === "positional");
  const options = args.filter(([, { type }]) => type !== "positional");
  const words = [
    ...path,
    ...(children === undefined ? [] : ["<command>"]),
    ...positionals.map(([name, definition]) => positionalLabel(name, definition)),
    "[options]",
  ];
  const sections = [
    metaOf(command).description,
    `Usage: ${words.join(" ")}`,
    section(
      "Commands:",
      (children ?? []).map((child) => [metaOf(child).name, metaOf(child).description]),
    ),
    section(
      "Arguments:",
      positionals.map(([name, definition]) => [
        isRest(definition) ? `<${name}...>` : `<${name}>`,
        describeArg(definition),
      ]),
    ),
    section(
      "Options:",
      options.map(([name, definition]) => [optionLabel(name, definition), describeArg(definition)]),
    ),
    section(
      "Options of every command:",
      Object.entries(globalArgs)
        .filter(([name]) => !options.some(([own]) => own === name))
        .map(([name, definition]) => [optionLabel(name, definition), describeArg(definition)]),
    ),
  ];
  return sections.filter((text) => text !== "").join("\n\n");
}

function section(title: string, rows: readonly (readonly [label: string, text: string])[]): string {
  if (rows.length === 0) return "";
  const width = Math.max(...rows.map(([label]) => label.length));
  return [title, ...rows.map(([label, text]) => `  ${label.padEnd(width)}  ${text}`)].join("\n");
}

/** How an argument is written in a command line: `<id>`, `[peel]`. */
export function positionalLabel(name: string, definition: ArgDef): string {
  if (isRest(definition)) return `[${name}...]`;
  return isRequired(definition) ? `<${name}>` : `[${name}]`;
}

/** How an option is written: `-h, --help`, `--state <pending|...>`. */
export function optionLabel(name: string, definition: ArgDef): string {
  const alias = "alias" in definition && typeof definition.alias === "string" ? `-${definition.alias}, ` : "";
  if (definition.type === "boolean") return `${alias}--${name}`;
  const hint = definition.type === "enum" ? definition.options?.join("|") : definition.valueHint;
  return `${alias}--${name} <${hint ?? name}>`;
}

/** What an argument or option means, with its default. */
export function describeArg(definition: ArgDef): string {
  const { description = "", default: fallback } = definition;
  if (fallback !== undefined) return `${description} (default: ${fallback})`;
  return definition.type !== "positional" && isRequired(definition)
    ? `${description} (required)`
    : description;
}
