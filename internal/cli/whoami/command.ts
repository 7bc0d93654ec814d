import { command } from "../../program/command-line/mod.ts";

export const whoamiCommand = command({
  name: "whoami",
  description: "Show how the masters identify you: name, roles, key and end.",
  examples: ["svc whoami"],
  args: {},
  run: async (_, cli) => (await import("./show.ts")).showWho(cli),
});
