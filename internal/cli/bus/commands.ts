import { resolve } from "node:path";
import { type BackedUp, type Bus, backUpBus, restoreBus } from "../../bus/mod.ts";
import { type Cli, command, formatTable } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";

const credsArg = {
  type: "string",
  valueHint: "file",
  required: true,
  description: "Credentials of a master (master.creds); operator credentials cannot read everything",
} as const;

const backupCommand = command({
  name: "backup",
  description: "Back up all data on the bus to a new directory.",
  args: { dir: { type: "positional", required: true, description: "New directory" }, creds: credsArg },
  run: ({ dir, creds }, cli) => show(cli, creds, (bus) => backUpBus(bus, resolve(dir))),
});

const restoreCommand = command({
  name: "restore",
  description: "Restore a backup to a new bus, before a master uses it.",
  args: {
    dir: { type: "positional", required: true, description: "Directory of the backup" },
    creds: credsArg,
    replicas: {
      type: "enum",
      options: ["1", "3", "5"],
      default: "1",
      description: "Number of cluster servers that store each bucket and stream",
    },
  },
  run: ({ dir, creds, replicas }, cli) =>
    show(cli, creds, (bus) => restoreBus(bus, resolve(dir), Number(replicas))),
});

/** The commands of `svc bus`. */
export const busCommands = [backupCommand, restoreCommand];

function show(cli: Cli, credsFile: string, work: (bus: Bus) => Promise<BackedUp[]>): Promise<void> {
  return withBus(
    cli,
    async (bus) => {
      const streams = await work(bus);
      await cli.print({ streams }, () =>
        formatTable(
          ["STREAM", "BYTES"],
          streams.map(({ name, bytes }) => [name, `${bytes}`]),
          cli,
        ),
      );
    },
    { credsFile },
  );
}
