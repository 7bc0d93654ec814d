import { expectation, signatureOf } from "../../internal/host/modules/arguments.ts";
import type { ModuleFunction } from "../../internal/host/modules/function.ts";
import { allFunctions } from "../../internal/host/modules/registry.ts";
import { cell } from "./reference.ts";

/** What stands before the functions of a module. */
const introductions: Readonly<Record<string, string>> = {
  cmd: `\`/bin/sh -c\` runs \`command\`. \`argv\` runs without a shell. Both run in a separate session and process group.

- **Environment.** A command does not inherit the environment of the peel. It starts with \`PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\`, \`LANG=C.UTF-8\`, and the \`HOME\`, \`USER\`, \`LOGNAME\` and \`SHELL\` of its user. \`env\` adds variables; a value of null removes a variable.
- **User.** With \`user\`, the command gets the uid, the gid and the supplementary groups of that user, and no groups of the peel. Only a peel that runs as root can do this. \`setpriv\` of util-linux sets the groups. On a host without it, the command has no supplementary groups. Users are looked up in \`/etc/passwd\` and then with \`getent\`.
- **Output.** The peel keeps 128 KiB each of stdout and stderr, half from the beginning and half from the end, with a line \`[12345 bytes left out]\` between them. Bytes that are not UTF-8 become replacement characters.
- **Stopping.** At the \`timeout\`, at the deadline of the job, or when the job is cancelled, the whole process group gets SIGTERM, and SIGKILL 5 seconds later. The return contains the output up to that point. A process that left the group, as daemons do, continues to run.
- **Background.** Processes that a command leaves running when it ends by itself continue to run. If such a process holds the output, the peel reads the output for another half second. Redirect its output (\`nohup program >/dev/null 2>&1 &\`), or the process ends when it writes.
- **Result.** \`pid\`, \`retcode\`, \`stdout\` and \`stderr\`. If a signal ended the command, \`retcode\` is 128 plus the number of the signal, and \`signal\` is its name.`,
  file: `Paths are absolute and must not contain \`.\` or \`..\`. A slash at the end of a path is ignored.

- \`file.write\` and \`file.copy\` write under another name in the same directory, with the final owner and mode, and then rename. A reader sees the old file or the new one. A symbolic link with that name is replaced and never redirects the write. Links among the parent directories are followed only where root alone can change them; otherwise the call is refused. Extended attributes of a replaced file are lost.
- \`file.append\` and \`file.set_mode\` refuse symbolic links; \`file.chown\` changes the link itself.
- \`file.remove\` never removes the root directory, under any name, and needs \`recursive\` to remove any other directory. It does not follow links.
- Only regular files are read, copied and hashed. Named pipes and devices are refused immediately.`,
  pkg: `The functions use the package manager of the host: apt, dnf, yum or apk. On a host with another one, they fail and name the programs that they looked for.

- The list of installed packages is read from the database of dpkg or apk, and with rpm from one run of \`rpm -qa\`.
- The lists of available packages are refreshed if the last refresh was more than an hour ago. \`refresh\` changes this to always or never. dnf and yum refresh their lists themselves.
- Package managers never prompt. apt keeps configuration files that were changed on the host.
- The name of a package of a foreign architecture contains the architecture, such as \`libc6:i386\`.`,
  service: `The functions work with systemd, OpenRC, or scripts in \`/etc/init.d\`, as the fact \`init\` says. With systemd, a name without a type is a service. Write the full name of other units, such as \`backup.timer\`.

- Whether a unit is enabled is read from the links that \`systemctl enable\` makes. A unit without an \`[Install]\` section is \`static\`: other units start it. A unit that is enabled only until the next boot counts as disabled.
- If systemd is installed but not running, as in an image, units can be enabled but not started.
- Before a unit with a changed file is started or restarted, systemd reads its units again.`,
  status:
    "These functions read `/proc` and work on Linux. They wait in the queue like all other functions. Sizes are in bytes.",
  user: "These functions see the users and groups in `/etc/passwd` and `/etc/group`, not those of a directory service. To change them, use the states `user.present` and `group.present`.",
  upgrade:
    "The peel fetches the binary from its masters, and its watchdog switches to it: see [watchdog.md](watchdog.md). The return is sent after the switch, by the binary that runs then.",
  sys: "A pattern is a glob: `file.*`, `*.get`.",
};

/** The reference of every function, as Markdown: the text of `docs/modules.md`. */
export function modulesReference(): string {
  const modules = Map.groupBy(allFunctions, ({ name }) => name.slice(0, name.indexOf(".")));
  return `${[
    "# Functions",
    "<!-- Generated from the tables in internal/host/modules and from test/docs/modules.ts: change those, not this page. -->",
    "A job calls one function on each of its peels; [jobs.md](jobs.md) shows how. `svc` or the master checks a call before it sends anything, and the peel checks it again before it runs. Unknown functions, unknown arguments, missing arguments and values of the wrong type are refused with the expected form.",
    "On a command line, the type of the argument decides how a value is read: a `string` is literal, `strings` are `a,b,c` or a YAML list, and a `map` or `any` is YAML or JSON. In a REST request, the value has the JSON type itself. A `mode` such as `0644` and a `duration` such as `90s` are strings.",
    'Functions marked "at once" are read-only: they do not wait behind other jobs of the peel.',
    ...[...modules].flatMap(([module, functions]) => [
      `## ${module}`,
      ...(introductions[module] === undefined ? [] : [introductions[module]]),
      ...functions.flatMap(describeFunction),
    ]),
  ].join("\n\n")}\n`;
}

function describeFunction(entry: ModuleFunction): string[] {
  const aliases = (entry.aliases ?? []).map((alias) => `\`${alias}\``);
  const notes = [
    entry.doc,
    ...(aliases.length === 0 ? [] : [`Also ${aliases.join(", ")}.`]),
    ...(entry.readOnly ? ["At once."] : []),
  ];
  const rows = Object.entries(entry.args).map(([name, spec]) => [
    `\`${name}\``,
    cell(`${spec.type}${spec.required ? ", required" : ""}`),
    cell(`${spec.doc}${hasLimits(spec) ? ` Must be ${expectation(spec)}.` : ""}`),
  ]);
  const head = ["Argument", "Type", "Description"];
  const table = [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
  return [`### ${signatureOf(entry)}`, notes.join(" "), ...(rows.length === 0 ? [] : [table])];
}

function hasLimits({ values, min, max }: ModuleFunction["args"][string]): boolean {
  return values !== undefined || min !== undefined || max !== undefined;
}
