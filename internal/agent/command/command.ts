import { hostname } from "node:os";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { endOnBrokenOutput, runTree } from "../../program/command-line/mod.ts";
import { peelCommands } from "./call.ts";

/**
 * Runs a command of `svc-peel` on this machine.
 *
 * @param exitWith called with every exit code except 0
 */
export async function runPeelCommand(
  machine: Pick<NodeJS.Process, "env" | "stdout" | "stderr" | "on" | "off">,
  argv: readonly string[],
  exitWith: (code: number) => void,
): Promise<void> {
  const { env, stdout, stderr } = machine;
  endOnBrokenOutput("svc-peel", machine, exitWith);
  const code = await runTree(peelCommands, {
    argv,
    env,
    hostname: hostname(),
    stdout,
    stderr,
    signals: machine,
    clock: systemClock,
    random: systemRandom,
  });
  if (code !== 0) exitWith(code);
}
