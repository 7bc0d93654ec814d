import { command, flag, value, word } from "../../program/command-line/mod.ts";
import { loginAtProvider, oidcArgs } from "./oidc-args.ts";

export const loginCommand = command({
  name: "login",
  description:
    "Make a key on this host with --new, install the operator file that you got for it, or sign in at an identity provider with --oidc. Keys stay below ~/.svc.",
  examples: ["svc login --new", "svc login alice.operator", "svc login --oidc https://id.example.com"],
  args: {
    file: word("Operator file that svc operator add wrote", { required: false }),
    new: flag("Make a key, and print the line for an operator with role admin"),
    name: value("name", "With --new: your name (default: that of your account)"),
    ...oidcArgs,
  },
  async run(args, cli) {
    if (args.oidc !== undefined) return loginAtProvider(args.oidc, args, cli);
    return (await import("./login.ts")).login(args, cli);
  },
});
