import { fingerprintCommand } from "./fingerprint.ts";
import { initCommand } from "./init.ts";
import { issueCommand } from "./issue.ts";
import { printCommand } from "./print.ts";
import { renewIntermediateCommand, renewRootCommand } from "./renew.ts";
import { rotateCommand } from "./rotate/commands.ts";

/** The commands of `svc ca`. */
export const caCommands = [
  initCommand,
  fingerprintCommand,
  printCommand,
  issueCommand,
  renewRootCommand,
  renewIntermediateCommand,
  rotateCommand,
];
