import { expectation, signatureOf } from "../../internal/host/modules/arguments.ts";
import type { ModuleFunction } from "../../internal/host/modules/function.ts";
import { allFunctions } from "../../internal/host/modules/registry.ts";
import { cell } from "./reference.ts";

/** What stands before the functions of a module. */
const introductions: Readonly<Record<string, string>> = {
  cmd: `\`command\` is run by \`/bin/sh -c\`, \`argv\` without a shell. Both run in a new session and process group.

- **Environment.** The environment of the peel is not passed on. A command starts with \`PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\`, \`LANG=C.UTF-8\`, and \`HOME\`, \`USER\`, \`LOGNAME\` and \`SHELL\` of the user it runs as. \`env\` adds to these; a value of null removes a variable.
- **User.** With \`user\` the command runs with the uid, the gid and the supplementary groups of that user. This requires a peel that runs as root. The groups are set by \`setpriv\` of util-linux; on a host without it the command has no supplementary groups. Users are looked up in \`/etc/passwd\` and then by \`getent\`.
- **Output.** 128 KiB of stdout and of stderr are kept: half from the beginning and half from the end, with a line \`[12345 bytes left out]\` between them. Invalid UTF-8 becomes replacement characters.
- **Stopping.** When \`timeout\` or the timeout of the job expires, or the job is cancelled, the process group receives SIGTERM, and SIGKILL 5 seconds later. The return contains the output so far. A process that has left the group, such as a daemon, keeps running.
- **Background.** Processes that a command leaves behind keep running. If such a process holds the output open, the output is read for another half second. Redirect its output (\`nohup program >/dev/null 2>&1 &\`); otherwise the process ends when it writes.
- **Result.** \`pid\`, \`retcode\`, \`stdout\` and \`stderr\`. For a command ended by a signal, \`retcode\` is 128 plus the number of the signal, and \`signal\` is its name.`,
  file: `Paths must be absolute and must not contain \`.\` or \`..\`. A trailing slash is ignored.

- \`file.write\` and \`file.copy\` write to a temporary name in the same directory, with the final owner and mode, and then rename the file. A reader sees either the old file or the new one. A symbolic link at the path is replaced and never redirects the write. Links in parent directories are followed, so do not write files of root to a directory that others can write to. Extended attributes of a replaced file are lost.
- \`file.append\` and \`file.set_mode\` reject symbolic links; \`file.chown\` changes the link itself.
- \`file.remove\` never removes the root directory, under any name, and requires \`recursive\` to remove any other directory. It does not follow links.
- Only regular files are read, copied and hashed. A named pipe or a device is rejected without blocking.`,
  pkg: `These functions use the package manager of the host: apt, dnf, yum or apk. On a host without any of these, they fail with the list of supported package managers.

- Installed packages are read directly from the database of dpkg or apk, and with rpm from one run of \`rpm -qa\`.
- Package lists are refreshed when they are more than an hour old; \`refresh\` forces or prevents this. dnf and yum refresh their lists themselves.
- Package managers run non-interactively: apt keeps configuration files that were changed on the host.
- The name of a foreign package includes its architecture, such as \`libc6:i386\`.`,
  service: `These functions use systemd, OpenRC or the scripts in \`/etc/init.d\`, according to the fact \`init\`. With systemd, a name without a type is a service; other units need their full name, such as \`backup.timer\`.

- Whether a unit is enabled is read from the links that \`systemctl enable\` creates. A unit without an \`[Install]\` section is \`static\`: other units start it. A unit that is enabled only until the next reboot counts as disabled.
- Where systemd is installed but not running, as in an image, units can be enabled but not started.
- systemd reloads its units before it starts or restarts a unit whose file has changed.`,
  status:
    "These functions read `/proc` and require Linux. They wait in the queue like other functions. Sizes are in bytes.",
  user: "Users and groups are read from `/etc/passwd` and `/etc/group`; those of a directory service are not included. To change them, use the states `user.present` and `group.present`.",
  upgrade:
    "The peel fetches the binary from its masters, and its watchdog switches to it: see [watchdog.md](watchdog.md). The return is sent after the switch, by the binary that is then running.",
  sys: "A pattern is a glob: `file.*`, `*.get`.",
};

/** The reference of every function, as Markdown: the text of `docs/modules.md`. */
export function modulesReference(): string {
  const modules = Map.groupBy(allFunctions, ({ name }) => name.slice(0, name.indexOf(".")));
  return `${[
    "# Functions",
    "<!-- Generated from the tables in internal/modules and from test/docs/modules.ts: change those, not this page. -->",
    "A job calls one function on each of its peels; see [jobs.md](jobs.md). A call is checked before it is sent, and again by the peel before it runs. An unknown function or argument, a missing argument and a value of the wrong type are rejected with a message that says what was expected.",
    "On a command line, the type of an argument decides how its value is parsed: a `string` is used literally, `strings` are `a,b,c` or a YAML list, a `map` or `any` is YAML or JSON. In a REST request, a value has the JSON type of its argument; a `mode` such as `0644` and a `duration` such as `90s` are strings.",
    'Functions marked "at once" change nothing and do not wait in the queue of the peel.',
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
