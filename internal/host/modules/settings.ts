import { untilAborted } from "../../base/clock.ts";
import type { Plain } from "../../base/msgpack.ts";
import { arg } from "./define.ts";
import type { CallContext, ModuleFunction } from "./function.ts";

/**
 * What is returned of a setting: the names alone, unless the result stays on this host. The return of a job is
 * stored on the bus, where settings are sealed.
 */
function shown(value: Plain, { unbounded, hidden }: Pick<CallContext, "unbounded" | "hidden">): Plain {
  if (unbounded === true) return value;
  hidden?.(value);
  return masked(value);
}

function masked(value: Plain): Plain {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return "***";
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, masked(item as Plain)]));
}

/** The settings of the peel. The aliases with `pillar` are Salt's names. */
export const settingsFunctions: readonly ModuleFunction[] = [
  {
    name: "settings.items",
    aliases: ["pillar.items"],
    doc: "Returns all settings of the peel. In the return of a job, *** stands for each value.",
    args: {},
    readOnly: true,
    run: (_, context) => shown({ ...context.settings.current() }, context),
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
    doc: "Returns one setting, or a value inside it. In the return of a job, *** stands for each value.",
    args: {
      name: arg.string("Path of the setting, with colons as separators: web:port, users:0:name.", {
        required: true,
      }),
      default: arg.any("Value to return if the setting does not exist; null by default."),
    },
    readOnly: true,
    run(args, context) {
      const found = context.settings.get(String(args.name));
      return found === undefined ? (args.default ?? null) : shown(found, context);
    },
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
