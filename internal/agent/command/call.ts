import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { systemJitter } from "../../base/id.ts";
import { jsonOf } from "../../base/json-of.ts";
import { createLog } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import { displayPeelId, peelIdFromConfig } from "../../base/names/peel-id.ts";
import { readCall } from "../../host/modules/mod.ts";
import { indent, showValue } from "../../program/answers/mod.ts";
import {
  type Cli,
  command,
  Exit,
  flag,
  group,
  readFlag,
  value,
  visible,
  word,
} from "../../program/command-line/mod.ts";
import { dataDir, loadForCommand } from "../../program/config/mod.ts";
import { checkCommand } from "../../program/diagnosis/mod.ts";
import { qualifiedHostname } from "../daemon/mod.ts";
import { execute } from "../execution/mod.ts";
import { comparedStates, compareWithSalt } from "./compare-salt.ts";
import { joinCommand } from "./join.ts";
import { untilStopped } from "./until-stopped.ts";

/** The subcommands of `svc-peel`. Without one it runs the daemon. */
export const peelCommands = group({
  name: "svc-peel",
  description: "Run a peel, or a function on this host.",
  commands: () => [
    joinCommand,
    callCommand,
    keygenCommand,
    checkCommand("svc-peel", async ({ argv, cli, log }) => {
      const { checkPeel } = await import("./check.ts");
      return checkPeel({ ...cli, argv, hostname: qualifiedHostname(), log });
    }),
  ],
});

const callCommand = command({
  name: "call",
  description: "Run a function on this host, without a master.",
  examples: [
    "svc-peel call state.highstate test=true",
    "svc-peel call facts.get os",
    "svc-peel call --local --states ./states state.apply nginx",
  ],
  args: {
    function: word("module.function, such as state.highstate", { required: false }),
    args: word("Arguments, positional or as name=value; words after -- are passed literally", { rest: true }),
    config: value("file", "Configuration file of the peel"),
    id: value("peel id", "Peel id for matching top files; default: the configured id, or the host name"),
    local: flag("Use directories of this host instead of the files that masters publish"),
    states: value("dir", "Directory of the state files; with --local"),
    settings: value("dir", "Directory of the settings; with --local"),
    "compare-salt": flag(
      "Compare the states with those of salt-call on this host, and apply nothing; with --local",
    ),
  },
  async run(args, cli) {
    const local = localOf(args);
    const comparing = args["compare-salt"] === true;
    if (comparing && local === undefined) throw new SvcError("usage", "--compare-salt requires --local");
    const mods = comparing ? comparedStates(args.function, args.args.words) : [];
    const call = comparing ? undefined : readCall(functionOf(args), args.args);
    await untilStopped(cli, async (signal) => {
      const { createCallHost } = await import("./call-host.ts");
      const id = args.id === undefined ? undefined : readFlag("--id", args.id, peelIdFromConfig);
      const context = await createCallHost({
        ...cli,
        ...defined({ local, id }),
        hostname: qualifiedHostname(),
        jitter: systemJitter,
        log: createLog({
          level: "warn",
          format: "text",
          clock: cli.clock,
          write: (line) => cli.stderr.write(line),
        }),
        signal,
      });
      if (call === undefined) {
        await compareWithSalt({ mods, ...local, ...defined({ id }) }, context(signal), cli);
      } else await print(await execute(call, context(signal)), cli);
    });
  },
});

const keygenCommand = command({
  name: "keygen",
  description: "Make the key of this host before its peel starts, for svc enroll expect.",
  examples: ["svc-peel keygen", "ssh web-1 svc-peel keygen | svc enroll expect -"],
  args: {
    config: value("file", "Configuration file of the peel"),
    id: value("peel id", "Peel id; default: the configured id, or the host name"),
  },
  async run({ id }, cli) {
    const { makeKey } = await import("./keygen.ts");
    const { peelId, publicKey, fingerprint, file } = makeKey({
      dataDir: dataDir(cli.env),
      configured: loadForCommand(cli).id,
      ...(id === undefined ? {} : { id: displayPeelId(readFlag("--id", id, peelIdFromConfig)) }),
      hostname: qualifiedHostname(),
      random: cli.random,
    });
    const name = displayPeelId(peelId);
    await cli.print({ peel_id: peelId, public_key: publicKey, fingerprint, file }, () =>
      [`peel id      ${name}`, `public key   ${publicKey}`, `fingerprint  ${fingerprint}`].join("\n"),
    );
    cli.say(
      `the key is in ${file}; expect this host with: echo "${name} ${publicKey}" | svc enroll expect -`,
    );
  },
});

/** @throws SvcError `usage` */
function functionOf({ function: called }: { function?: string | undefined }): string {
  if (called !== undefined && called !== "") return called;
  throw new SvcError("usage", "<function> is required");
}

function localOf(args: {
  local?: boolean | undefined;
  states?: string | undefined;
  settings?: string | undefined;
}) {
  const { local, states, settings } = args;
  if (local === true) {
    return defined({ states, settings });
  }
  const alone = states === undefined ? (settings === undefined ? undefined : "--settings") : "--states";
  if (alone !== undefined) throw new SvcError("usage", `${alone} requires --local`);
  return undefined;
}

/** @throws Exit 1 when the function failed */
async function print(returned: Awaited<ReturnType<typeof execute>>, cli: Cli): Promise<void> {
  const { success, error, return: value } = returned;
  if (value !== undefined) await cli.print(jsonOf(value), () => textOf(value));
  if (error !== undefined) cli.error(error.split("\n").map(visible).join("\n"));
  if (!success) throw new Exit(1);
}

function textOf(value: Plain): string {
  const { cell, details } = showValue(value);
  return cell === "" ? details.join("\n") : [visible(cell), ...indent(details)].join("\n");
}
