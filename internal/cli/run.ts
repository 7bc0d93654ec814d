import { idsCommand, runTree } from "../program/command-line/mod.ts";
import { tree } from "./tree.ts";

/** Runs one command line of `svc`. @returns the exit code */
export async function runCli(options: Parameters<typeof runTree>[1]): Promise<number> {
  const [first, ...rest] = options.argv;
  if (first === idsCommand) return (await import("./completion/ids.ts")).offerIds(rest, options);
  return runTree(tree, options);
}
