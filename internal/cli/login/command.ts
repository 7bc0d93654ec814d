import { command } from "../../program/command-line/mod.ts";
import { loginAtProvider, oidcArgs } from "./oidc-args.ts";

export const loginCommand = command({
  name: "login",
  description:
    "Make a key on this host with --new, install the operator file that you got for it, or sign in at an identity provider with --oidc. Keys stay below ~/.svc.",
  examples: ["svc login --new", "svc login alice.operator", "svc login --oidc https://id.example.com"],
  args: {
    file: { type: "positional", required: false, description: "Operator file that svc operator add wrote" },
    new: { type: "boolean", description: "Make a key, and print the line for an operator with role admin" },
    name: {
      type: "string",
      valueHint: "name",
      description: "With --new: your name (default: that of your account)",
    },
    ...oidcArgs,
  },
  async run(args, cli) {
    if (args.oidc !== undefined) return loginAtProvider(args.oidc, args, cli);
    return (await import("./login.ts")).login(args, cli);
  },
});
