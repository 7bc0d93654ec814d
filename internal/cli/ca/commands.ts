import { group } from "../../program/command-line/mod.ts";
import { fingerprintCommand } from "./fingerprint.ts";
import { initCommand } from "./init.ts";
import { issueCommand } from "./issue.ts";
import { printCommand } from "./print.ts";
import { renewIntermediateCommand, renewRootCommand } from "./renew.ts";

/** The commands of `svc ca`. */
export const caCommands = [
  initCommand,
  fingerprintCommand,
  printCommand,
  issueCommand,
  renewRootCommand,
  renewIntermediateCommand,
  // It asks the fleet; the others work offline, and start without the client of the bus.
  group({
    name: "rotate",
    description: "Replace the root of the CA without a visit to any host: start, activate, finish.",
    commands: async () => (await import("./rotate/commands.ts")).rotateCommands,
  }),
];
