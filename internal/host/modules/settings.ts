import { untilAborted } from "../../base/clock.ts";
import type { CallContext, ModuleFunction } from "./function.ts";

/** The settings of the peel. The names with `pillar` are those that operators know from Salt. */
export const settingsFunctions: readonly ModuleFunction[] = [
  {
    name: "settings.items",
    aliases: ["pillar.items"],
    doc: "Gives all settings of the peel, secrets included.",
    args: {},
    readOnly: true,
    run: (_, { settings }) => ({ ...settings.current() }),
  },
  {
    name: "settings.ls",
    aliases: ["pillar.ls"],
    doc: "Gives the names of the settings, sorted.",
    args: {},
    readOnly: true,
    run: (_, { settings }) => Object.keys(settings.current()).sort(),
  },
  {
    name: "settings.get",
    aliases: ["pillar.get"],
    doc: "Gives one setting, or one value inside it.",
    args: {
      name: {
        type: "string",
        required: true,
        doc: "The setting, with colons for what is inside it: web:port, users:0:name.",
      },
      default: { type: "any", doc: "What is given when there is no such setting; null by default." },
    },
    readOnly: true,
    run: (args, { settings }) => settings.get(String(args.name), args.default ?? null) ?? null,
  },
  {
    name: "settings.refresh",
    aliases: ["pillar.refresh"],
    doc: "Asks the masters for the settings in force, and tells whether any of them changed.",
    args: {},
    readOnly: true,
    run: (_, { settings, signal }: CallContext) =>
      Promise.race([
        settings.refresh(),
        untilAborted(signal).then(() => Promise.reject<boolean>(signal.reason)),
      ]),
  },
];
