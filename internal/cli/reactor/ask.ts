import type { Cli } from "../../program/command-line/mod.ts";

/** Says on standard error what is wrong with the rule files, if anything is. */
export function sayProblem(
  cli: Pick<Cli, "say">,
  { master, problem }: { master: string; problem?: string | undefined },
): void {
  if (problem === undefined) return;
  cli.say(`the rules on ${master} are the last good ones, as the files are not: ${problem}`);
}
