import type { CommandDef } from "citty";
import { group } from "../program/command-line/mod.ts";
import { completionCommand } from "./completion/command.ts";
import { consoleCommand } from "./console/command.ts";
import { doctorCommand } from "./doctor/command.ts";
import { eventsCommand } from "./events/command.ts";
import { helpCommand } from "./help.ts";
import { initCommand } from "./init.ts";
import { runCommand } from "./job/run.ts";
import { loginCommand } from "./login/command.ts";
import { planCommand } from "./plan/command.ts";
import { canCommand } from "./roles/can.ts";
import { schemaCommand } from "./schema.ts";
import { statusCommand } from "./status/command.ts";
import { upgradeCommand } from "./upgrade/command.ts";
import { versionCommand } from "./version.ts";
import { whoamiCommand } from "./whoami/command.ts";

/** Every command of `svc`. A group's commands are loaded when it is named, so that each starts quickly. */
const commands: readonly CommandDef[] = [
  initCommand,
  group({
    name: "enroll",
    description: "Manage the enrollment of peels.",
    commands: async () => (await import("./enroll/commands.ts")).enrollCommands,
  }),
  group({
    name: "peels",
    description: "List the peels of the fleet, and show what the masters know of one.",
    commands: async () => (await import("./peels/commands.ts")).peelsCommands,
  }),
  group({
    name: "facts",
    description: "Show what peels reported about their hosts, also of those that are off.",
    commands: async () => (await import("./facts/commands.ts")).factsCommands,
  }),
  group({
    name: "states",
    description: "Show which peels are as described, and what drifted, from their last state runs.",
    commands: async () => (await import("./states/commands.ts")).statesCommands,
  }),
  planCommand,
  statusCommand,
  doctorCommand,
  runCommand,
  group({
    name: "job",
    description: "Show, follow and cancel jobs.",
    commands: async () => (await import("./job/commands.ts")).jobCommands,
  }),
  eventsCommand,
  canCommand,
  group({
    name: "roles",
    description: "Show the roles of operators, and check a roles file.",
    commands: async () => (await import("./roles/commands.ts")).rolesCommands,
  }),
  group({
    name: "approval",
    description: "Show requests that wait for other operators; agree to them, or deny them.",
    commands: async () => (await import("./approval/commands.ts")).approvalCommands,
  }),
  group({
    name: "audit",
    description: "Show and verify the record of every decision.",
    commands: async () => (await import("./audit/commands.ts")).auditCommands,
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
  loginCommand,
  whoamiCommand,
  consoleCommand,
  group({
    name: "operator",
    description: "Add, list, disable and remove operators.",
    commands: async () => (await import("./operators/commands.ts")).operatorCommands,
  }),
  group({
    name: "context",
    description: "List the fleets that you are logged in to, and choose one.",
    commands: async () => (await import("./context/commands.ts")).contextCommands,
  }),
  group({
    name: "state",
    description: "Check and render state files, offline.",
    commands: async () => (await import("./state/commands.ts")).stateCommands,
  }),
  group({
    name: "import",
    description: "Bring states, settings and hosts over from Salt, offline.",
    commands: async () => (await import("./import/commands.ts")).importCommands,
  }),
  group({
    name: "settings",
    description: "Show and explain the settings of a peel; check settings files, offline.",
    commands: async () => (await import("./settings/commands.ts")).settingsCommands,
  }),
  group({
    name: "token",
    description: "Create, list and revoke tokens of the REST API; print the one of a sign-in.",
    commands: async () => (await import("./token/commands.ts")).tokenCommands,
  }),
  group({
    name: "fleet",
    description: "Replace a fleet after a theft of its keys, offline.",
    commands: async () => (await import("./fleet/commands.ts")).fleetCommands,
  }),
  group({
    name: "ca",
    description: "Create and use the fleet's certificate authority, offline.",
    commands: async () => (await import("./ca/commands.ts")).caCommands,
  }),
  group({
    name: "keys",
    description: "Show the keys of a fleet, and replace the command key or the signing key of the account.",
    commands: async () => (await import("./keys/commands.ts")).keysCommands,
  }),
  group({
    name: "bus",
    description: "Back up and restore the data on the bus.",
    commands: async () => (await import("./bus/commands.ts")).busCommands,
  }),
  group({
    name: "cluster",
    description: "Show the servers of the bus, compare what they store, and add or remove a host.",
    commands: async () => (await import("./cluster/commands.ts")).clusterCommands,
  }),
  group({
    name: "nats-auth",
    description: "Create and check the keys and accounts of the bus, offline.",
    commands: async () => (await import("./nats-auth/commands.ts")).natsAuthCommands,
  }),
  schemaCommand,
  completionCommand(() => tree),
  helpCommand(() => tree),
  versionCommand,
];

/** The whole of `svc`. */
export const tree: CommandDef = group({
  name: "svc",
  description: "Manage a fleet of peels.",
  examples: [
    "svc init ./fleet --host master.example.com",
    "svc enroll approve --match 'web-*'",
    "svc run 'web-*' test.ping",
    "svc help run",
  ],
  sections: [
    ["First steps", ["init", "login", "whoami", "status", "doctor", "console"]],
    ["Hosts", ["enroll", "peels", "facts", "upgrade"]],
    ["Run", ["run", "job", "rollout", "events", "reactor"]],
    ["State", ["state", "states", "plan", "settings", "import"]],
    ["People and rights", ["operator", "token", "roles", "can", "approval", "audit"]],
    ["Fleets, their keys and their bus", ["context", "fleet", "ca", "keys", "bus", "cluster", "nats-auth"]],
    ["This program", ["schema", "completion", "help", "version"]],
  ],
  commands: () => commands,
});
