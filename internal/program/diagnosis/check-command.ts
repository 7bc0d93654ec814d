import { createLog, type Log } from "../../base/log.ts";
import { type Cli, type CommandDef, command, Exit } from "../command-line/mod.ts";
import { formatSteps, hasFailed, type StepResult } from "./step.ts";

/** Runs the check of a daemon. @param what.argv the flags of the daemon */
type Check = (what: { argv: readonly string[]; cli: Cli; log: Log }) => Promise<StepResult[]>;

/**
 * Defines the command that tests the configuration of a daemon without starting it. It exits 0, 1 when a
 * step failed, 2 for a mistake on the command line.
 *
 * @param program the daemon
 */
export function checkCommand(program: string, check: Check): CommandDef {
  return command({
    name: "check",
    description: "Test the configuration without starting the daemon.",
    examples: [`${program} check`, `${program} check --config ./${program}.yaml -- --log-level debug`],
    args: {
      config: { type: "string", valueHint: "file", description: `Configuration file of ${program}` },
      flags: {
        type: "positional",
        rest: true,
        description: `After --, the flags of ${program}`,
      },
    },
    async run({ flags }, cli) {
      const config = cli.config === undefined ? [] : ["--config", cli.config];
      const argv = [...config, ...flags.words, ...flags.literal];
      await showSteps(await check({ argv, cli, log: quietLog(cli) }), cli);
    },
  });
}

/** Writes the results of steps. @throws Exit 1 when one failed */
export async function showSteps(results: readonly StepResult[], cli: Cli): Promise<void> {
  await cli.print(results, () => formatSteps(results, cli));
  if (hasFailed(results)) throw new Exit(1);
}

/** The findings are the results of the steps; a log would repeat them. */
export function quietLog({ clock }: Pick<Cli, "clock">): Log {
  return createLog({ level: "error", format: "text", clock, write() {} });
}
