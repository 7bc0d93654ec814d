import { createMessages } from "../base/messages.ts";
import { idsCommand, runTree } from "../program/command-line/mod.ts";
import { ignoredVariables, readVariables } from "../program/config/mod.ts";
import { tree } from "./tree.ts";

/** Runs one command line of `svc`. @returns the exit code */
export async function runCli(options: Parameters<typeof runTree>[1]): Promise<number> {
  const [first, ...rest] = options.argv;
  if (first === idsCommand) return (await import("./completion/ids.ts")).offerIds(rest, options);
  const ignored = ignoredVariables("svc", options.env);
  if (ignored.length > 0) {
    const { warn } = createMessages({ name: "svc", write: (text) => options.stderr.write(text) });
    warn(
      `nothing reads ${ignored.join(", ")} of the environment: svc reads ${readVariables.svc.join(" and ")}`,
    );
  }
  return runTree(tree, options);
}
