import type { CommandDef } from "citty";
import { group } from "../program/command-line/command.ts";
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
      description: "Decide who belongs to the fleet.",
      commands: async () => (await import("./enroll/commands.ts")).enrollCommands,
    }),
    statusCommand,
    doctorCommand,
    runCommand,
    group({
      name: "job",
      description: "Look at jobs, follow them, cancel them.",
      commands: async () => (await import("./job/commands.ts")).jobCommands,
    }),
    group({
      name: "reactor",
      description: "Look at the rules that react to events, try them, and close their breakers.",
      commands: async () => (await import("./reactor/commands.ts")).reactorCommands,
    }),
    group({
      name: "rollout",
      description: "Run a function in waves, and hold or end it.",
      commands: async () => (await import("./rollout/commands.ts")).rolloutCommands,
    }),
    upgradeCommand,
    group({
      name: "state",
      description: "Check and render state files, offline.",
      commands: async () => (await import("./state/commands.ts")).stateCommands,
    }),
    group({
      name: "ca",
      description: "Make and use the fleet's certificate authority, offline.",
      commands: async () => (await import("./ca/commands.ts")).caCommands,
    }),
    group({
      name: "bus",
      description: "Save what the bus stores, and put it onto another.",
      commands: async () => (await import("./bus/commands.ts")).busCommands,
    }),
    group({
      name: "nats-auth",
      description: "Make and check the keys and accounts of the bus, offline.",
      commands: async () => (await import("./nats-auth/commands.ts")).natsAuthCommands,
    }),
    completionCommand(() => tree),
  ],
});
