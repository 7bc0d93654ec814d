import { masterProgram } from "../../internal/program/config/master.ts";
import { operatorOptions } from "../../internal/program/config/operator-options.ts";
import { defaultText, flagOf, type OptionTable } from "../../internal/program/config/option.ts";
import { peelProgram } from "../../internal/program/config/peel.ts";

/** The reference of every key of every program, as Markdown: the text of `docs/configuration.md`. */
export function configurationReference(): string {
  return `${[
    "# Configuration",
    "<!-- Generated from the option tables in internal/program/config: change those, not this page. -->",
    "Each program reads one YAML file. A key with a dot is nested: `enroll.addr` is `enroll: {addr: ...}`. Unknown keys, duplicate keys and values of the wrong type stop the program with a message that names the file, the line and the key.",
    'In a daemon, the file overrides the default, and a flag overrides the file. A list flag takes several values separated by commas and may be repeated. An empty list flag (`--master-urls ""`) clears the list of the file. A switch has three forms: `--reactor`, `--no-reactor`, `--reactor=false`. `--print-config` prints every setting with its origin.',
    "Write durations as `500ms`, `90s`, `5m`, `1h30m`; only `0` needs no unit. The environment variable `SVC_DATA_DIR` replaces `/data` in every default. Other variables that begin with `SVC_` set nothing: the log names them when a daemon starts, and `svc` names those that nothing reads.",
    ...programReference(masterProgram),
    "The file may also contain the `master:` section of the `svc` tool.",
    ...programReference(peelProgram),
    "## svc",
    "`svc` reads the file that `--config` names. Otherwise it reads the first of `/etc/svc/master.yaml` and `~/.svc/config.yaml` that has a `master:` section. The master daemon also uses `/etc/svc/master.yaml`, so that file may contain the keys of the daemon too.",
    keyTable(operatorOptions),
    "## In an editor",
    "`svc schema` writes the JSON Schema of a file that you write: `master`, `peel` and `svc` for the configuration of the three programs, `roles` for [roles](roles.md), `policy` for the [enrollment policy](joining.md), `rules` for [reactor rules](reactor.md), `nodegroups` for [node groups](targeting.md), and `settings-top` and `states-top` for the top files of [settings](settings.md) and [states](states.md). The YAML language server of most editors completes keys and shows mistakes with it:",
    "```sh host\nsvc schema master > master.schema.json\n```",
    "Then name it in the first line of the file: `# yaml-language-server: $schema=./master.schema.json`. The schema comes from the same table as the check of the program, which also knows what a schema cannot say, such as the form of a target. [States](states.md#in-an-editor) have a schema of their own.",
  ].join("\n\n")}\n`;
}

function programReference(program: { name: string; defaultFile: string; options: OptionTable }): string[] {
  const groups = new Map<string, OptionTable>();
  for (const [key, declared] of Object.entries(program.options)) {
    groups.set(declared.group, { ...groups.get(declared.group), [key]: declared });
  }
  return [
    `## ${program.name}`,
    `Default file: \`${program.defaultFile}\`; \`--config\` names another file. The file may be absent.`,
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
