import { type CliOptions, runTree } from "./run-tree.ts";
import { tree } from "./tree.ts";

/** Runs one command line of `svc`. @returns the exit code */
export function runCli(options: CliOptions): Promise<number> {
  return runTree(tree, options);
}
