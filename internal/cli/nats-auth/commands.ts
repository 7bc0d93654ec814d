import { credentialsCommand } from "./credentials.ts";
import { initCommand } from "./init.ts";
import { lintCommand } from "./lint.ts";

/** The commands of `svc nats-auth`. */
export const natsAuthCommands = [initCommand, credentialsCommand, lintCommand];
