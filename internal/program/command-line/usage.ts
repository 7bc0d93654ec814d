import type { ArgDef, ArgsDef, CommandDef } from "citty";
import { childrenOf, examplesOf, isRest, metaOf } from "./command.ts";
import { globalArgs } from "./globals.ts";
import { type Found, isRequired } from "./parse.ts";

/** Writes how a command is used: what `--help` shows. */
export async function formatUsage({ command, path }: Pick<Found, "command" | "path">): Promise<string> {
  const children = await childrenOf(command);
  const { call, positionals, options } = describeCommand(command);
  const words = [...path, ...(children === undefined ? [] : ["<command>"]), ...call];
  const examples = (await examplesOf(command)).map((line) => `  ${line}`);
  const sections = [
    metaOf(command).description,
    `Usage: ${words.join(" ")}`,
    section(
      "Commands:",
      (children ?? []).map((child) => [metaOf(child).name, metaOf(child).description]),
    ),
    section("Arguments:", positionals),
    section("Options:", options),
    examples.length === 0 ? "" : ["Examples:", ...examples].join("\n"),
    section(
      "Options of every command:",
      globalRows().filter(([label]) => !options.some(([own]) => own.split(" ")[0] === label.split(" ")[0])),
    ),
  ];
  return sections.filter((text) => text !== "").join("\n\n");
}

/** What one may write, and what it means. */
type Row = readonly [label: string, text: string];

/** What a command takes: the words of a call behind its name, its arguments, its own options. */
export function describeCommand(command: CommandDef): {
  call: readonly string[];
  positionals: readonly Row[];
  options: readonly Row[];
} {
  const args = Object.entries((command.args ?? {}) as ArgsDef);
  const positionals = args.filter(([, { type }]) => type === "positional");
  return {
    call: [...positionals.map(([name, definition]) => positionalLabel(name, definition)), "[options]"],
    positionals: positionals.map(([name, definition]) => [
      isRest(definition) ? `<${name}...>` : `<${name}>`,
      describe(definition),
    ]),
    options: optionRows(args.filter(([, { type }]) => type !== "positional")),
  };
}

/** The options that every command takes. */
export function globalRows(): Row[] {
  return optionRows(Object.entries(globalArgs));
}

function optionRows(options: readonly (readonly [name: string, definition: ArgDef])[]): Row[] {
  return options.map(([name, definition]) => [optionLabel(name, definition), describe(definition)]);
}

function section(title: string, rows: readonly Row[]): string {
  if (rows.length === 0) return "";
  const width = Math.max(...rows.map(([label]) => label.length));
  return [title, ...rows.map(([label, text]) => `  ${label.padEnd(width)}  ${text}`)].join("\n");
}

function positionalLabel(name: string, definition: ArgDef): string {
  if (isRest(definition)) return `[${name}...]`;
  return isRequired(definition) ? `<${name}>` : `[${name}]`;
}

function optionLabel(name: string, definition: ArgDef): string {
  const alias = "alias" in definition && typeof definition.alias === "string" ? `-${definition.alias}, ` : "";
  if (definition.type === "boolean") return `${alias}--${name}`;
  const hint = definition.type === "enum" ? definition.options?.join("|") : definition.valueHint;
  return `${alias}--${name} <${hint ?? name}>`;
}

function describe(definition: ArgDef): string {
  const { description = "", default: fallback } = definition;
  if (fallback !== undefined) return `${description} (default: ${fallback})`;
  return definition.type !== "positional" && isRequired(definition)
    ? `${description} (required)`
    : description;
}
