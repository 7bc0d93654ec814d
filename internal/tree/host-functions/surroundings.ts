import { cleanEnvironment, programPath } from "../../base/process/environment.ts";
import { systemOf } from "../../host/system/system.ts";
import { currentZone } from "../../host/system/timezone.ts";
import { type HostFunction, reading, text } from "./function.ts";

/** Programs, the environment, the time zone, and random values. */
export const surroundingFunctions: readonly HostFunction[] = [
  reading("cmd.which", ["cmd"], "Returns the path of a program; null without it.", (args) =>
    which(text(args, "cmd")),
  ),
  reading(
    "cmd.has_exec",
    ["cmd"],
    "Returns whether there is a program.",
    (args) => which(text(args, "cmd")) !== null,
  ),
  reading(
    "environ.get",
    ["key", "default?"],
    "Returns a variable of the environment that programs get here.",
    (args) => variable(text(args, "key")) ?? args.default ?? "",
  ),
  reading("environ.has_value", ["key", "value?"], "Returns whether programs get a variable here.", (args) => {
    const found = variable(text(args, "key"));
    return args.value === undefined || args.value === null ? found !== undefined : found === args.value;
  }),
  reading(
    "timezone.get_zone",
    [],
    "Returns the time zone.",
    (_, { context }) => currentZone(systemOf(context)) ?? "UTC",
  ),
  reading(
    "random.get_str",
    ["length?", "chars?"],
    "Returns a random text; another one each time.",
    (args, { random }) => {
      const length = Math.min(Number(args.length ?? 20) || 20, 1_024);
      const chars = typeof args.chars === "string" && args.chars !== "" ? args.chars : letters;
      return Array.from({ length }, () => chars[below(chars.length, random)] ?? "").join("");
    },
  ),
  reading(
    "random.rand_int",
    ["start?", "end?"],
    "Returns a random number; another one each time.",
    (args, { random }) => {
      const [start, end] = [Number(args.start ?? 1), Number(args.end ?? 10)];
      return start + below(Math.max(1, end - start + 1), random);
    },
  ),
];

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** The daemon's own environment may hold secrets. */
function variable(name: string): string | undefined {
  const environment = cleanEnvironment(undefined);
  return Object.hasOwn(environment, name) ? environment[name] : undefined;
}

function which(name: string): string | null {
  return Bun.which(name, { PATH: programPath, cwd: "/" });
}

function below(limit: number, random: (length: number) => Uint8Array): number {
  const [a = 0, b = 0, c = 0, d = 0] = random(4);
  return (((a * 256 + b) * 256 + c) * 256 + d) % limit;
}
