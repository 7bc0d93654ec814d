import { command } from "../../program/command-line/mod.ts";
import { directArgs } from "../direct-args.ts";

export const statusCommand = command({
  name: "status",
  description: "Show the state of the fleet, as the masters know it; with --direct as it is stored.",
  examples: ["svc status", "svc status --output json", "svc status --direct"],
  args: directArgs,
  run: async (args, cli) => (await import("./show.ts")).showStatus(cli, args),
});
