import type { Cli } from "../../program/command-line/mod.ts";

/** Says on standard error what is wrong with the rule files, if anything is. */
export function sayProblem(
  cli: Pick<Cli, "say">,
  {
    master,
    problem,
    refused,
  }: { master: string; problem?: string | undefined; refused?: string | undefined },
): void {
  if (refused !== undefined) cli.say(`${master}: ${refused}`);
  if (problem === undefined) return;
  cli.say(`the rules on ${master} are the last valid ones, because the files are not valid: ${problem}`);
}
