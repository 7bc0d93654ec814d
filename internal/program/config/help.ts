import { formatSection } from "../../base/lines/section.ts";
import { usualWidth, wrapText } from "../../base/lines/wrap.ts";
import { defaultText, flagOf, type Option, type OptionTable } from "./option.ts";

type Row = readonly [left: string, right: string];

/** The environment variables that a daemon reads, with their descriptions. */
export const environment: readonly Row[] = [
  ["SVC_DATA_DIR", "directory that replaces /data in every default (default /data)"],
  ["BUS_CA_FILE", "CA file that verifies the bus server when bus_ca is empty"],
];

/** The help text of a daemon: every flag of its table, in groups. @param width cells of a line */
export function formatHelp(
  program: {
    name: string;
    summary: string;
    options: OptionTable;
    defaultFile: string;
    /** Command lines, as one types them. */
    examples: readonly string[];
    /** The subcommands, with their descriptions. */
    commands?: readonly Row[];
  },
  width = usualWidth,
): string {
  const groups = new Map<string, Row[]>();
  const fileOnly: Row[] = [];
  for (const [key, declared] of Object.entries(program.options)) {
    const flag = flagOf(key, declared);
    if (flag === undefined) fileOnly.push([key, declared.doc]);
    else groups.set(declared.group, [...(groups.get(declared.group) ?? []), flagRow(flag, declared)]);
  }
  const general: readonly Row[] = [
    ["--config <path>", `YAML file to read (default ${program.defaultFile})`],
    ["--print-config", "print every setting with its origin, and exit"],
    ["--version", "print the version, and exit"],
    ["-h, --help", "print this help, and exit"],
  ];
  const { commands = [] } = program;
  const section = (title: string, rows: readonly Row[]) => formatSection(`${title}:`, rows, width);
  return `${[
    `${program.name}: ${program.summary}`,
    `Usage: ${program.name} [flags]`,
    wrapText(
      "A flag overrides the YAML file, and the file overrides the default. Separate the values of a list with commas; an empty list clears the list of the file.",
      width,
    ).join("\n"),
    ...(commands.length === 0 ? [] : [section("Commands", commands)]),
    section("General", general),
    ...[...groups].map(([title, rows]) => section(title, rows)),
    ...(fileOnly.length === 0 ? [] : [section("Only in the file", fileOnly)]),
    section("Environment", environment),
    ["Examples:", ...program.examples.map((line) => `  ${line}`)].join("\n"),
  ].join("\n\n")}\n`;
}

function flagRow(flag: string, declared: Option<unknown>): Row {
  const { isSwitch, placeholder } = declared.type;
  const shown = defaultText(declared);
  const notes = [...(['""', "[]", "{}"].includes(shown) ? [] : [`default ${shown}`])];
  return [
    isSwitch ? `--[no-]${flag}` : `--${flag} ${placeholder}`,
    `${declared.doc}${notes.length === 0 ? "" : ` (${notes.join("; ")})`}`,
  ];
}
