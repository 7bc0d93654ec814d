import { idsCommand } from "../program/command-line/id-kinds.ts";
import { type CliOptions, runTree } from "../program/command-line/run-tree.ts";
import { tree } from "./tree.ts";

/** Runs one command line of `svc`. @returns the exit code */
export async function runCli(options: CliOptions): Promise<number> {
  const [first, ...rest] = options.argv;
  if (first === idsCommand) return (await import("./completion/ids.ts")).offerIds(rest, options);
  return runTree(tree, options);
}
