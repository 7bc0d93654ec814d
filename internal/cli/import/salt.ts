import { SvcError } from "../../base/errors.ts";
import { atLine } from "../../base/place.ts";
import {
  type Cli,
  command,
  formatFields,
  formatTable,
  type TableStyle,
  value,
} from "../../program/command-line/mod.ts";
import type { importSalt } from "../salt/mod.ts";
import { readSubject } from "../state/subject.ts";

export const saltCommand = command({
  name: "salt",
  description:
    "Write the states, settings, groups, rules and expected hosts of a Salt master to a new directory, with a report of what needs a hand.",
  examples: ["svc import salt --master-config /etc/salt/master --dir ./from-salt"],
  args: {
    "master-config": value("file", "Configuration of the Salt master, such as /etc/salt/master", {
      required: true,
    }),
    dir: value("dir", "Directory to write; it must be empty or not exist", { required: true }),
    root: value(
      "dir",
      "Directory that the paths in the configuration are below, for a copy of the Salt master",
      { default: "/" },
    ),
  },
  async run(args, cli) {
    const { checkedSentence, importSalt } = await import("../salt/mod.ts");
    const { facts, host } = await readSubject({ "host-functions": "read" }, cli);
    const report = await untilStopped(cli, (pause) =>
      importSalt({ masterConfig: args["master-config"], out: args.dir, root: args.root, facts, host, pause }),
    );
    const { written, needs_hand: items, omitted } = report;
    await cli.print(report, () =>
      [
        formatFields([
          ["Directory", report.dir],
          ["  states/", counted(written.states, "file")],
          [
            "  settings/",
            `${counted(written.settings, "file")}, and ${counted(written.groups, "node group")} in nodegroups.yaml`,
          ],
          ["  reactor/", counted(written.rules, "rule")],
          ["  schedules/", `${counted(written.schedule_entries, "entry", "entries")} for peel.yaml`],
          ["  expected-hosts", counted(written.expected_hosts, "name")],
          [
            "  report.md",
            `${counted(items.length + omitted, "place")} to look at; report.json has the same as data`,
          ],
        ]),
        "",
        checkedSentence(report.checked),
        ...(items.length === 0 ? [] : ["", formatItems(items, cli)]),
      ].join("\n"),
    );
  },
});

/** What needs a hand. */
export function formatItems(
  items: Awaited<ReturnType<typeof importSalt>>["needs_hand"],
  style: TableStyle,
): string {
  return formatTable(
    { ABOUT: "text", PLACE: "prose", PROBLEM: "prose" },
    items.map(({ about, file, line, problem }) => [about, atLine(file, line), problem]),
    style,
  );
}

/** Ctrl-C ends the import between two files, and removes what it wrote. */
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

function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}
