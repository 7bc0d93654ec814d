import {
  type CommandDef,
  childrenOf,
  describeCommand,
  examplesOf,
  globalRows,
  metaOf,
} from "../../internal/program/command-line/mod.ts";
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

const exits: readonly (readonly [code: string, meaning: string])[] = [
  ["0", "Success."],
  ["1", "Failure. The last line on standard error contains the reason and the next step."],
  ["2", "Invalid command line."],
  ["130", "Interrupted by Ctrl-C."],
];

/** A runnable command with its full name, such as `svc job list`. */
interface Runnable {
  path: string;
  command: CommandDef;
}

/** The pages of a command tree: one for the program, and one for each of its commands. */
export async function commandPages(
  root: CommandDef,
  edition: Edition,
  more: readonly Page[],
): Promise<Page[]> {
  const program = metaOf(root).name;
  const children = (await childrenOf(root)) ?? [];
  const place = (child: CommandDef) => ({ name: `${program}-${metaOf(child).name}`, section: 1 as const });
  const overview = page({ name: program, section: 1, summary: sentence(metaOf(root).description) }, edition, [
    heading("Synopsis"),
    synopsis([`${program} <command> [options]`, `${program} <command> --help`]),
    heading("Description"),
    paragraph(metaOf(root).description),
    heading("Commands"),
    ...children.map((child) =>
      tagged(`${program} ${metaOf(child).name}`, `${metaOf(child).description} See ${place(child).name}(1).`),
    ),
    heading("Options of every command"),
    ...globalOptions(program),
    heading("Examples"),
    synopsis(await examplesOf(root)),
    heading("Files"),
    tagged("/etc/svc/master.yaml", "Configuration, if it has a section named master."),
    tagged("~/.svc/config.yaml", "Configuration, if the first file does not have that section."),
    heading("Environment"),
    tagged("NO_COLOR", "If set and not empty, disables color."),
    ...exitStatus(),
    seeAlso([...children.map(place), ...more]),
  ]);
  const pages = children.map(async (child) => {
    const own = await runnables(child, `${program} ${metaOf(child).name}`);
    return page({ ...place(child), summary: sentence(metaOf(child).description) }, edition, [
      heading("Synopsis"),
      synopsis(own.map(usageOf)),
      heading("Description"),
      paragraph(metaOf(child).description),
      ...((await childrenOf(child)) === undefined ? [] : commandSections(own)),
      heading("Options"),
      ...((await childrenOf(child)) === undefined ? argumentsOf(child) : []),
      paragraph(`The options of every command are in ${program}(1).`),
      heading("Examples"),
      synopsis(own.flatMap(({ command }) => metaOf(command).examples)),
      ...exitStatus(),
      seeAlso([{ name: program, section: 1 }]),
    ]);
  });
  return [overview, ...(await Promise.all(pages))];
}

/** The command lines of a tree. */
export async function runnables(place: CommandDef, path: string): Promise<Runnable[]> {
  const children = await childrenOf(place);
  if (children === undefined) return [{ path, command: place }];
  return (
    await Promise.all(children.map((child) => runnables(child, `${path} ${metaOf(child).name}`)))
  ).flat();
}

/** The usage of a command, such as `svc job show <jid> [options]`. */
export function usageOf({ path, command }: Runnable): string {
  return [path, ...describeCommand(command).call].join(" ");
}

/** The description and options of each command, each under its own heading. */
export function commandSections(commands: readonly Runnable[]): string[] {
  return [
    heading("Commands"),
    ...commands.flatMap(({ path, command }) => [
      subheading(path),
      paragraph(metaOf(command).description),
      ...argumentsOf(command),
    ]),
  ];
}

/** @param except an option that the commands define themselves */
export function globalOptions(program: string, except?: string): string[] {
  return terms(globalRows(program).filter(([label]) => label.split(" ")[0] !== except));
}

function argumentsOf(command: CommandDef): string[] {
  const { positionals, options } = describeCommand(command);
  return terms([...positionals, ...options]);
}

function terms(rows: readonly (readonly [label: string, text: string])[]): string[] {
  return rows.map(([label, text]) => tagged(label, `${text}.`));
}

function exitStatus(): string[] {
  return [heading("Exit status"), ...exits.map(([code, meaning]) => tagged(code, meaning))];
}

/** A description for the NAME section: only its first part, without the full stop. */
function sentence(description: string): string {
  const text = description.replace(/\.$/, "").split(/[.:] /)[0] ?? "";
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}
