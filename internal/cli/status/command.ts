import { command } from "../../program/command-line/mod.ts";

export const statusCommand = command({
  name: "status",
  description: "Show the state of the fleet, even when no master runs.",
  examples: ["svc status", "svc status --output json"],
  args: {},
  run: async (_, cli) => (await import("./show.ts")).showStatus(cli),
});
