import { type Cli, Exit } from "../program/command-line/mod.ts";

/** What a check of a directory found. */
interface Found<Problem> {
  /** Number of files. */
  checked: number;
  problems: readonly Problem[];
  /** What a person should look at; it does not change the exit code. */
  warnings?: readonly Problem[];
}

/**
 * Prints the result of a `lint` command.
 *
 * @param kind of the files: `state`
 * @param linesOf the lines for one problem
 * @throws Exit 1 when there is a problem
 */
export async function printLint<Problem>(
  cli: Cli,
  kind: string,
  { checked, problems, warnings = [] }: Found<Problem>,
  linesOf: (problem: Problem) => readonly string[],
): Promise<void> {
  const count = `${checked} ${kind} ${checked === 1 ? "file" : "files"}`;
  await cli.print({ checked, problems, ...(warnings.length === 0 ? {} : { warnings }) }, () =>
    problems.length === 0 ? `${count}: no problems` : problems.flatMap(linesOf).join("\n"),
  );
  for (const warning of warnings) cli.say(`warning: ${linesOf(warning).join("\n")}`);
  if (problems.length === 0) return;
  cli.say(`${count}: ${problems.length} ${problems.length === 1 ? "problem" : "problems"}`);
  throw new Exit(1);
}
