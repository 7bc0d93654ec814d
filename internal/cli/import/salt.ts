import { SvcError } from "../../base/errors.ts";
import { atLine } from "../../base/place.ts";
import { type Cli, command, formatFields, formatTable } from "../../program/command-line/mod.ts";
import { readSubject } from "../state/subject.ts";

export const saltCommand = command({
  name: "salt",
  description:
    "Write the states, settings, groups, rules and expected hosts of a Salt master to a new directory, with a report of what needs a hand.",
  args: {
    "master-config": {
      type: "string",
      valueHint: "file",
      required: true,
      description: "Configuration of the Salt master, such as /etc/salt/master",
    },
    dir: {
      type: "string",
      valueHint: "dir",
      required: true,
      description: "Directory to write; it must be empty or not exist",
    },
    root: {
      type: "string",
      valueHint: "dir",
      default: "/",
      description: "Directory that the paths in the configuration are below, for a copy of the Salt master",
    },
  },
  async run(args, cli) {
    const { checkedSentence, importSalt } = await import("../salt/mod.ts");
    const { facts } = await readSubject({}, cli);
    const report = await untilStopped(cli, (pause) =>
      importSalt({ masterConfig: args["master-config"], out: args.dir, root: args.root, facts, pause }),
    );
    const { written, needs_hand: items, omitted } = report;
    await cli.print(report, () =>
      [
        formatFields([
          ["Directory", report.dir],
          ["  states/", `${written.states} files`],
          ["  settings/", `${written.settings} files, and ${written.groups} node groups in nodegroups.yaml`],
          ["  reactor/", `${written.rules} rules`],
          ["  schedules/", `${written.schedule_entries} entries for peel.yaml`],
          ["  expected-hosts", `${written.expected_hosts} names`],
          [
            "  report.md",
            `${items.length + omitted} places that need a hand; report.json has the same as data`,
          ],
        ]),
        "",
        checkedSentence(report.checked),
        ...(items.length === 0
          ? []
          : [
              "",
              formatTable(
                ["ABOUT", "PLACE", "PROBLEM"],
                items.map(({ about, file, line, problem }) => [about, atLine(file, line), problem]),
                cli,
              ),
            ]),
      ].join("\n"),
    );
  },
});

/** Ctrl-C ends the import between two files, and nothing of it remains. */
async function untilStopped<Result>(
  cli: Cli,
  run: (pause: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  let stopped = false;
  const onSignal = () => {
    stopped = true;
  };
  cli.signals?.on("SIGINT", onSignal);
  try {
    return await run(async () => {
      await new Promise((resolve) => setImmediate(resolve));
      if (stopped) throw new SvcError("unavailable", "stopped; nothing was written");
    });
  } finally {
    cli.signals?.off("SIGINT", onSignal);
  }
}
