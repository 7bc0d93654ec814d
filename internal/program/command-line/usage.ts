import type { ArgDef, ArgsDef, CommandDef } from "citty";
import { formatSection, type Row } from "../../base/lines/section.ts";
import { firstLine, usualWidth, wrapText } from "../../base/lines/wrap.ts";
import { childrenOf, examplesOf, isRest, metaOf, nameOf } from "./command.ts";
import { globalsOf } from "./globals.ts";
import { type Found, isRequired } from "./parse.ts";

/**
 * Writes how a command is used: what `--help` shows.
 *
 * @param width cells of a line. Examples are not broken: they are copied
 */
export async function formatUsage(
  { command, path }: Pick<Found, "command" | "path">,
  width = usualWidth,
): Promise<string> {
  const children = await childrenOf(command);
  const { call, positionals, options } = describeCommand(command);
  const words = [...path, ...(children === undefined ? [] : ["<command>"]), ...call];
  const examples = (await examplesOf(command)).map((line) => `  ${line}`);
  const section = (title: string, rows: readonly Row[]) => formatSection(title, rows, width);
  const [program = ""] = path;
  const sections = [
    wrapText(metaOf(command).description, width).join("\n"),
    wrapText(`Usage: ${words.join(" ")}`, width - 4).join("\n    "),
    formatCommands(command, children ?? [], width),
    section("Arguments:", positionals),
    section("Options:", options),
    examples.length === 0 ? "" : ["Examples:", ...examples].join("\n"),
    // The help of a daemon is about its flags, and explains none of them.
    path.length === 1 || program !== "svc"
      ? section("Options of every command:", othersThan(options, globalRows(program)))
      : wrapText(
          `Options of every command, see ${program} --help: ${namesOf(program, options)}`,
          width - 2,
        ).join("\n  "),
  ];
  return sections.filter((text) => text !== "").join("\n\n");
}

/** The commands of a group, one line for each, under the headings of the group where it has some. */
function formatCommands(place: CommandDef, children: readonly CommandDef[], width: number): string {
  if (children.length === 0) return "";
  const names = children.map(nameOf);
  const label = 2 + Math.max(...names.map((name) => name.length)) + 2;
  const rowOf = (child: CommandDef): Row => [
    nameOf(child).padEnd(label - 4),
    firstLine(metaOf(child).description, width - label),
  ];
  const { sections = [["Commands", names]] } = metaOf(place);
  return sections
    .map(([title, below]) => {
      const rows = below.flatMap((name) => children.filter((child) => nameOf(child) === name)).map(rowOf);
      return formatSection(`${title}:`, rows, width);
    })
    .join("\n\n");
}

/** The options of every command that a command does not declare itself. */
const othersThan = (own: readonly Row[], rows: readonly Row[]): Row[] =>
  rows.filter(([label]) => !own.some(([other]) => other.split(" ")[0] === label.split(" ")[0]));

/** Their names. */
function namesOf(program: string, own: readonly Row[]): string {
  return othersThan(own, globalRows(program))
    .map(([label]) => /--[a-z-]+/.exec(label)?.[0] ?? label)
    .join(", ");
}

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

/** The options that every command of a program takes. */
export function globalRows(program: string): Row[] {
  return optionRows(Object.entries(globalsOf(program)));
}

function optionRows(options: readonly (readonly [name: string, definition: ArgDef])[]): Row[] {
  return options.map(([name, definition]) => [optionLabel(name, definition), describe(definition)]);
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
