import { untilAborted } from "../../base/clock.ts";
import type { CallContext, ModuleFunction } from "./function.ts";

/** The settings of the peel. The aliases with `pillar` are Salt's names. */
export const settingsFunctions: readonly ModuleFunction[] = [
  {
    name: "settings.items",
    aliases: ["pillar.items"],
    doc: "Returns all settings of the peel, including secrets.",
    args: {},
    readOnly: true,
    run: (_, { settings }) => ({ ...settings.current() }),
  },
  {
    name: "settings.ls",
    aliases: ["pillar.ls"],
    doc: "Returns the names of the settings, sorted.",
    args: {},
    readOnly: true,
    run: (_, { settings }) => Object.keys(settings.current()).sort(),
  },
  {
    name: "settings.get",
    aliases: ["pillar.get"],
    doc: "Returns one setting, or a value inside it.",
    args: {
      name: {
        type: "string",
        required: true,
        doc: "Path of the setting, with colons as separators: web:port, users:0:name.",
      },
      default: { type: "any", doc: "Value to return if the setting does not exist; null by default." },
    },
    readOnly: true,
    run: (args, { settings }) => settings.get(String(args.name), args.default ?? null) ?? null,
  },
  {
    name: "settings.refresh",
    aliases: ["pillar.refresh"],
    doc: "Fetches the settings in force from the masters and returns whether any of them changed.",
    args: {},
    readOnly: true,
    run: (_, { settings, signal }: CallContext) =>
      Promise.race([
        settings.refresh(),
        untilAborted(signal).then(() => Promise.reject<boolean>(signal.reason)),
      ]),
  },
];
