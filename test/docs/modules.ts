import { expectation, signatureOf } from "../../internal/host/modules/arguments.ts";
import type { ModuleFunction } from "../../internal/host/modules/function.ts";
import { allFunctions } from "../../internal/host/modules/registry.ts";
import { cell } from "./reference.ts";

/** What stands before the functions of a module. */
const introductions: Readonly<Record<string, string>> = {
  cmd: `\`command\` is run by \`/bin/sh -c\`, \`argv\` without a shell. Both run in a session and process group of their own.

- **Environment.** Nothing of the peel's own is passed on. A command starts with \`PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\`, \`LANG=C.UTF-8\`, and \`HOME\`, \`USER\`, \`LOGNAME\` and \`SHELL\` of the user it runs as. \`env\` adds to these; a value of null takes a variable away.
- **User.** With \`user\` the command gets the uid, the gid and the supplementary groups of that user, and none of the peel's. Only a peel that runs as root can do that. The groups are set by \`setpriv\` of util-linux; on a host without it the command has no supplementary groups. Users are looked up in \`/etc/passwd\` and then by \`getent\`.
- **Output.** Of stdout and stderr 128 KiB each are kept, half of it from the beginning and half from the end; a line \`[12345 bytes left out]\` stands between them. What is not UTF-8 becomes replacement characters.
- **Stopping.** When \`timeout\` or the job's time is over, or the job is cancelled, the whole process group gets SIGTERM, and 5 seconds later SIGKILL. The output so far is in the return. A process that left the group, as daemons do, goes on.
- **Background.** What a command leaves running when it ends by itself goes on. Output is read for half a second more if such a process holds it; send its output elsewhere (\`nohup program >/dev/null 2>&1 &\`), or it ends by writing.
- **Result.** \`pid\`, \`retcode\`, \`stdout\` and \`stderr\`. A command that a signal ended has 128 and the number of the signal as \`retcode\`, and the name as \`signal\`.`,
  file: `Paths are absolute, and without \`.\` and \`..\`. A slash at the end of a path means nothing.

- \`file.write\` and \`file.copy\` write under another name in the same directory, with the final owner and mode, and then rename. A reader sees the old file or the new one, and a symbolic link of that name is replaced: it never leads the write elsewhere. Links among the directories above are followed, so a directory that somebody else can write to is no place for a file of root. Extended attributes of a replaced file are lost.
- \`file.append\` and \`file.set_mode\` refuse symbolic links; \`file.chown\` changes the link itself.
- \`file.remove\` never removes the root directory, by whatever name, and takes \`recursive\` to remove any other. It does not follow links.
- Only regular files are read, copied and hashed: a named pipe or a device is refused, not waited for.`,
  pkg: `Packages are those of the host's own package manager: apt, dnf, yum or apk. A host with another one gets an answer that says what was looked for.

- What is installed is read from the database of dpkg or apk itself, and with rpm from one run of \`rpm -qa\`.
- The lists of what could be installed are refreshed when the last time was more than an hour ago; \`refresh\` makes that always or never. dnf and yum see to it themselves.
- Nobody is asked: apt keeps configuration that was changed on the host.
- A package of a foreign architecture has it in its name, such as \`libc6:i386\`.`,
  service: `Services are those of systemd, of OpenRC, or scripts of \`/etc/init.d\`, by the fact \`init\`. With systemd a name without a type is a service, and other units have their whole name, such as \`backup.timer\`.

- Whether a unit is enabled is read from the links that \`systemctl enable\` makes. A unit without an \`[Install]\` section is \`static\`: others start it. What is enabled only until the next start of the host counts as disabled.
- Where systemd is installed and does not run, as in an image, units can be enabled and not started.
- Before systemd starts or restarts a unit whose file has changed, it reads its units again.`,
  status:
    "These read `/proc` and work on Linux. They wait for their turn like everything else; sizes are bytes.",
  user: "Users and groups are those of `/etc/passwd` and `/etc/group`; those of a directory service are not seen. States change them: see `user.present` and `group.present`.",
  upgrade:
    "The peel asks its masters for the binary, and the watchdog above it changes over: see [watchdog.md](watchdog.md). The return comes after the change, from whichever binary runs then.",
  sys: "A pattern is a glob: `file.*`, `*.get`.",
};

/** The reference of every function, as Markdown: the text of `docs/modules.md`. */
export function modulesReference(): string {
  const modules = Map.groupBy(allFunctions, ({ name }) => name.slice(0, name.indexOf(".")));
  return `${[
    "# Functions",
    "<!-- Generated from the tables in internal/modules and from test/docs/modules.ts: change those, not this page. -->",
    "A job calls one function on each of its peels; [jobs.md](jobs.md) shows how. A call is checked before anything is sent, and again by the peel before anything runs: an unknown function or argument, a missing argument and a value of another type are refused with what was expected.",
    "On a command line a value is read by the type of its argument: a `string` as it is written, `strings` as `a,b,c` or as a YAML list, a `map` or `any` as YAML or JSON. In a REST request it has the type itself: a `mode` such as `0644` and a `duration` such as `90s` are strings.",
    'Functions marked "at once" change nothing: they do not wait behind other jobs of the peel.',
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
