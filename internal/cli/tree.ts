import type { CommandDef } from "citty";
import { group } from "../program/command-line/mod.ts";
import { completionCommand } from "./completion/command.ts";
import { doctorCommand } from "./doctor/command.ts";
import { initCommand } from "./init.ts";
import { runCommand } from "./job/run.ts";
import { statusCommand } from "./status/command.ts";
import { upgradeCommand } from "./upgrade/command.ts";

/** Every command of `svc`. A group's commands are loaded when it is named, so that each starts quickly. */
export const tree: CommandDef = group({
  name: "svc",
  description: "Manage a fleet of peels.",
  commands: () => [
    initCommand,
    group({
      name: "enroll",
      description: "Manage the enrollment of peels.",
      commands: async () => (await import("./enroll/commands.ts")).enrollCommands,
    }),
    statusCommand,
    doctorCommand,
    runCommand,
    group({
      name: "job",
      description: "Show, follow and cancel jobs.",
      commands: async () => (await import("./job/commands.ts")).jobCommands,
    }),
    group({
      name: "reactor",
      description: "Show and test reactor rules, and reset their circuit breakers.",
      commands: async () => (await import("./reactor/commands.ts")).reactorCommands,
    }),
    group({
      name: "rollout",
      description: "Run a function in waves; pause, resume or abort it.",
      commands: async () => (await import("./rollout/commands.ts")).rolloutCommands,
    }),
    upgradeCommand,
    group({
      name: "state",
      description: "Check and render state files, offline.",
      commands: async () => (await import("./state/commands.ts")).stateCommands,
    }),
    group({
      name: "settings",
      description: "Check settings files, offline.",
      commands: async () => (await import("./settings/commands.ts")).settingsCommands,
    }),
    group({
      name: "ca",
      description: "Create and use the fleet's certificate authority, offline.",
      commands: async () => (await import("./ca/commands.ts")).caCommands,
    }),
    group({
      name: "bus",
      description: "Back up and restore the data on the bus.",
      commands: async () => (await import("./bus/commands.ts")).busCommands,
    }),
    group({
      name: "nats-auth",
      description: "Create and check the keys and accounts of the bus, offline.",
      commands: async () => (await import("./nats-auth/commands.ts")).natsAuthCommands,
    }),
    completionCommand(() => tree),
  ],
});
