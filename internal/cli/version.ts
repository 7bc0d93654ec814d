import { version } from "../base/version.ts";
import { command } from "../program/command-line/mod.ts";

export const versionCommand = command({
  name: "version",
  description: "Show the version of svc, as --version does.",
  examples: ["svc version", "svc version --output json"],
  args: {},
  run: (_, cli) => cli.print({ version }, () => `svc ${version}`),
});
