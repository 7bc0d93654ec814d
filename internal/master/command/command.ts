import { hostname } from "node:os";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { group, runTree } from "../../program/command-line/mod.ts";
import { checkCommand } from "../../program/diagnosis/mod.ts";
import { busServerCommand } from "./bus-server.ts";
import { checkMaster } from "./check.ts";

/** The commands of `svc-master`; without one it runs the daemon. */
export const masterCommands = group({
  name: "svc-master",
  description: "Run a master, or test its configuration.",
  commands: () => [
    checkCommand("svc-master", ({ argv, cli, log }) => checkMaster({ ...cli, argv, log })),
    busServerCommand,
  ],
});

/** Runs a command of `svc-master` on this machine. @returns the exit code */
export function runMasterCommand(
  { env, stdout, stderr }: Pick<NodeJS.Process, "env" | "stdout" | "stderr">,
  argv: readonly string[],
): Promise<number> {
  return runTree(masterCommands, {
    argv,
    env,
    hostname: hostname(),
    stdout,
    stderr,
    clock: systemClock,
    random: systemRandom,
  });
}
