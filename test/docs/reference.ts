import { masterProgram } from "../../internal/program/config/master.ts";
import { operatorOptions } from "../../internal/program/config/operator-options.ts";
import { defaultText, flagOf, type OptionTable } from "../../internal/program/config/option.ts";
import { peelProgram } from "../../internal/program/config/peel.ts";

/** The reference of every key of every program, as Markdown: the text of `docs/configuration.md`. */
export function configurationReference(): string {
  return `${[
    "# Configuration",
    "<!-- Generated from the option tables in internal/config: change those, not this page. -->",
    "Each program reads one YAML file. A key with a dot is nested: `enroll.addr` is `enroll: {addr: ...}`. Unknown keys, keys that are there twice and values of the wrong type stop the program with a message that names the file, the line and the key.",
    'A daemon takes a setting from its default, then from the file, then from the flag when one is passed. An empty list flag (`--master-urls ""`) clears the list of the file; a list flag takes several values separated by commas and may be repeated. A switch has three forms: `--reactor`, `--no-reactor`, `--reactor=false`. `--print-config` prints every setting with its origin.',
    "Durations are written `500ms`, `90s`, `5m`, `1h30m`; only `0` needs no unit. The environment variable `SVC_DATA_DIR` takes the place of `/data` in every default.",
    ...programReference(masterProgram),
    "The file may also hold the `master:` section of the `svc` tool.",
    ...programReference(peelProgram),
    "## svc",
    "The file is the one `--config` names, or else the first of `/etc/svc/master.yaml` and `~/.svc/config.yaml` that has a `master:` section. The first is shared with the master daemon and may hold its keys too.",
    keyTable(operatorOptions),
  ].join("\n\n")}\n`;
}

function programReference(program: { name: string; defaultFile: string; options: OptionTable }): string[] {
  const groups = new Map<string, OptionTable>();
  for (const [key, declared] of Object.entries(program.options)) {
    groups.set(declared.group, { ...groups.get(declared.group), [key]: declared });
  }
  return [
    `## ${program.name}`,
    `Default file: \`${program.defaultFile}\`; \`--config\` names another. It may be absent.`,
    ...[...groups].flatMap(([title, table]) => [`### ${title}`, keyTable(table)]),
  ];
}

function keyTable(table: OptionTable): string {
  const hasFlags = Object.entries(table).some(([key, declared]) => flagOf(key, declared) !== undefined);
  const head = ["Key", ...(hasFlags ? ["Flag"] : []), "Value", "Default", "Description"];
  const rows = Object.entries(table).map(([key, declared]) => {
    const flag = flagOf(key, declared);
    return [
      `\`${key}\``,
      ...(hasFlags ? [flag === undefined ? "none" : `\`--${flag}\``] : []),
      cell(declared.type.name),
      `\`${defaultText(declared).replaceAll("|", "\\|")}\``,
      cell(declared.doc),
    ];
  });
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

/** Text as it stands in a cell of a table. */
export function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
