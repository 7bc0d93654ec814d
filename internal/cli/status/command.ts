import { command } from "../../program/command-line/command.ts";

export const statusCommand = command({
  name: "status",
  description: "Show the fleet at a glance, also when no master runs.",
  args: {},
  run: async (_, cli) => (await import("./show.ts")).showStatus(cli),
});
