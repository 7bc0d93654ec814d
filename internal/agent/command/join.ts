import { existsSync } from "node:fs";
import { defined } from "../../base/defined.ts";
import { systemJitter } from "../../base/id.ts";
import { createLog } from "../../base/log.ts";
import { displayPeelId, peelIdFromConfig } from "../../base/names/peel-id.ts";
import { parseJoinToken } from "../../identity/join-token/mod.ts";
import { type Cli, command, Exit, flag, readFlag, value, word } from "../../program/command-line/mod.ts";
import { dataDir, packagedPeelDataDir, peelProgram } from "../../program/config/mod.ts";
import { qualifiedHostname, runPeelDaemon } from "../daemon/mod.ts";
import { readJoinToken } from "../joining/mod.ts";
import { healthFlag } from "./health-flag.ts";
import type { Joined } from "./join-host.ts";
import { untilStopped } from "./until-stopped.ts";

export const joinCommand = command({
  name: "join",
  description:
    "Make this host a member of a fleet with a join token, and run the peel. It needs nothing else on the host.",
  examples: ["svc-peel join --token-file /run/join-token", "svc-peel join --once --token-file - < token"],
  args: {
    token: word("The token; other users of this host can see it there, so prefer --token-file", {
      required: false,
    }),
    "token-file": value(
      "file",
      "File with the token; - is standard input. Default: SVC_JOIN_TOKEN, then the systemd credential join-token",
    ),
    once: flag("End when this host has its credentials, and do not run the peel"),
    id: value("peel id", "Id of this peel (default: the host name)"),
    "health-addr": value(
      "address",
      "Address of /healthz, /readyz and /metrics of this peel, for the configuration file, such as 127.0.0.1:9092 next to another peel",
    ),
    config: value("file", "Configuration file to write, or to add to", { default: peelProgram.defaultFile }),
  },
  async run(args, cli) {
    const found = readJoinToken({ env: cli.env, ...defined({ word: args.token, file: args["token-file"] }) });
    if (found?.isVisible === true) {
      cli.warn("other users of this host can see the token in the list of processes: use --token-file -");
    }
    const token = found === undefined ? undefined : parseJoinToken(found.source, found.text);
    if (args.id !== undefined) readFlag("--id", args.id, peelIdFromConfig);
    const directory = dataDirOf(cli.env);
    const joined = await untilStopped(cli, async (signal) => {
      const { joinHost, logFormatOf } = await import("./join-host.ts");
      // The peel continues in the same log.
      const format = args.once === true ? "text" : logFormatOf({ configFile: args.config, env: cli.env });
      return joinHost({
        ...{ configFile: args.config, dataDir: directory, hostname: qualifiedHostname(), signal },
        ...{ env: cli.env, clock: cli.clock, random: cli.random, jitter: systemJitter },
        ...defined({ token, id: args.id, healthAddr: args["health-addr"] }),
        log: createLog({
          ...{ level: "info", format, clock: cli.clock },
          write: (line) => cli.stderr.write(line),
        }),
      });
    });
    if (args.once !== true) {
      const argv = ["--config", args.config, ...healthFlag(args["health-addr"])];
      throw new Exit(await runPeelDaemon(argv, { ...cli.env, SVC_DATA_DIR: directory }));
    }
    await report(joined, { config: args.config, dataDir: directory }, cli);
  },
});

async function report(joined: Joined, where: { config: string; dataDir: string }, cli: Cli): Promise<void> {
  const { peelId, enrollmentId, before, lacksCredentials } = joined;
  const name = displayPeelId(peelId);
  const data = {
    ...{ peel_id: peelId, config: where.config, data_dir: where.dataDir, joined: before !== true },
    ...defined({ enrollment_id: enrollmentId }),
  };
  const is = before === true ? "is a member already" : "has joined the fleet";
  await cli.print(data, () => `${name} ${is}${enrollmentId === undefined ? "" : `: ${enrollmentId}`}`);
  const recovers =
    lacksCredentials === true ? "; it recovers its credentials, which are not on this host" : "";
  cli.say(`Start the peel: ${startOf(where)}${recovers}`);
}

/** How the peel is started. The unit of the package reads the packaged places only. */
function startOf({ config, dataDir: directory }: { config: string; dataDir: string }): string {
  const byHand = `SVC_DATA_DIR=${directory} svc-peel --config ${config}`;
  const isPackaged = config === peelProgram.defaultFile && directory === packagedPeelDataDir;
  return isPackaged ? "systemctl enable --now svc-peel" : byHand;
}

/** The data directory: where the unit of the package has it, unless the environment names another. */
function dataDirOf(env: Cli["env"]): string {
  const { SVC_DATA_DIR: named } = env;
  const isUnnamed = named === undefined || named === "";
  return isUnnamed && existsSync(packagedPeelDataDir) ? packagedPeelDataDir : dataDir(env);
}
