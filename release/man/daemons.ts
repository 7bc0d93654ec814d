import { type CommandDef, metaOf } from "../../internal/program/command-line/mod.ts";
import {
  defaultText,
  environment,
  flagOf,
  type Option,
  type OptionTable,
  sentenceOf,
} from "../../internal/program/config/mod.ts";
import { commandSections, globalOptions, runnables, usageOf } from "./commands.ts";
import {
  type Edition,
  heading,
  type Page,
  page,
  paragraph,
  seeAlso,
  subheading,
  synopsis,
  tagged,
} from "./roff.ts";

/** A daemon, described by its option table. */
interface Daemon {
  name: string;
  summary: string;
  options: OptionTable;
  defaultFile: string;
  /** Command lines of the daemon itself. */
  examples: readonly string[];
  /** The subcommands. Some of them accept the flags of the daemon. */
  commands: readonly (readonly [name: string, meaning: string])[];
}

/** The page of a daemon: its flags and subcommands. */
export async function daemonPage(daemon: Daemon, commands: CommandDef, edition: Edition): Promise<Page> {
  const { name, summary, options, defaultFile } = daemon;
  const own = await runnables(commands, name);
  const others = daemon.commands
    .map(([word, meaning]) => ({ path: `${name} ${word}`, meaning }))
    .filter(({ path }) => !own.some((one) => one.path === path));
  const withFlag = Object.entries(options).flatMap(([key, declared]) => {
    const flag = flagOf(key, declared);
    return flag === undefined ? [] : [{ flag, declared }];
  });
  const groups = Map.groupBy(withFlag, ({ declared }) => declared.group);
  return page({ name, section: 8, summary }, edition, [
    heading("Synopsis"),
    synopsis([`${name} [flags]`, ...others.map(({ path }) => `${path} [flags]`), ...own.map(usageOf)]),
    heading("Description"),
    paragraph(`Without a command, ${name} runs the daemon.`),
    paragraph(
      "A flag overrides the file, and the file overrides the default. Separate the values of a list with commas; its flag may be repeated, and an empty list clears the list of the file.",
    ),
    ...commandSections(own),
    ...others.flatMap(({ path, meaning }) => [subheading(path), paragraph(`${capital(meaning)}.`)]),
    subheading(`Options of ${own.map(({ path }) => path).join(" and ")}`),
    ...globalOptions(name, "--config"),
    heading("Flags of the daemon"),
    tagged("--config <path>", `The file to read (default ${defaultFile}); see ${name}.yaml(5).`),
    tagged("--print-config", "Print every setting with its origin, and exit."),
    tagged("--version", "Print the version, and exit."),
    tagged("-h, --help", "Print help, and exit."),
    ...[...groups].flatMap(([group, rows]) => [
      subheading(group),
      ...rows.map(({ flag, declared }) => tagged(flagLabel(flag, declared), meaningOf(declared))),
    ]),
    heading("Examples"),
    synopsis([...daemon.examples, ...own.flatMap(({ command }) => metaOf(command).examples)]),
    heading("Environment"),
    ...environment.map(([variable, meaning]) => tagged(variable, `${meaning}.`)),
    heading("Files"),
    tagged(defaultFile, `The configuration; see ${name}.yaml(5).`),
    heading("Exit status"),
    tagged("0", "Success: it was stopped by a signal, or printed the requested output."),
    tagged("1", "Failure. The last line on standard error contains the reason and the next step."),
    tagged("2", "Invalid command line."),
    seeAlso([
      { name: `${name}.yaml`, section: 5 },
      { name: "svc", section: 1 },
    ]),
  ]);
}

/** The page of a configuration file: its keys. */
export function filePage(
  file: { name: string; summary: string; reader: { name: string; section: number } },
  texts: readonly string[],
  options: OptionTable,
  edition: Edition,
): Page {
  const groups = Map.groupBy(Object.entries(options), ([, declared]) => declared.group);
  return page({ name: file.name, section: 5, summary: file.summary }, edition, [
    heading("Description"),
    ...texts.map(paragraph),
    paragraph(
      "The file is YAML. A key with a dot is nested: a.b is the key b of the map a. Unknown keys, duplicate keys and values of the wrong type are errors that name the line. A duration is written as 500ms, 90s, 5m or 1h30m.",
    ),
    heading("Keys"),
    ...[...groups].flatMap(([group, rows]) => [
      ...(groups.size === 1 ? [] : [subheading(group)]),
      ...rows.map(([key, declared]) =>
        tagged(key, `${meaningOf(declared)} Value: ${declared.type.name}. ${flagText(key, declared)}`.trim()),
      ),
    ]),
    seeAlso([file.reader]),
  ]);
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

function flagLabel(flag: string, { type }: Option<unknown>): string {
  return type.isSwitch ? `--[no-]${flag}` : `--${flag} ${type.placeholder}`;
}

function flagText(key: string, declared: Option<unknown>): string {
  const flag = flagOf(key, declared);
  return flag === undefined ? "" : `Flag: --${flag}.`;
}

function meaningOf(declared: Option<unknown>): string {
  return `${sentenceOf(declared)} Default: ${defaultText(declared)}.`;
}
