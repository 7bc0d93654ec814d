import { textOf } from "../../jinja/mod.ts";
import { Tuple, type Value, ValueMap } from "../../jinja/values/mod.ts";
import { looseFunction, type SaltFunction, saltFunction } from "./function.ts";

const levels = ["trace", "debug", "info", "warning", "error", "critical", "exception", "quiet"] as const;

/** Functions that templates call for no value of theirs, and the ones that are empty here. */
export const smallFunctions: readonly SaltFunction[] = [
  ...levels.map((level) =>
    saltFunction(`log.${level}`, ["message"], "Does nothing: templates write no log.", () => true),
  ),
  saltFunction("test.ping", [], "Returns true.", () => true),
  saltFunction("test.echo", ["text"], "Returns its argument.", ([text]) => text as Value),
  looseFunction(
    "test.arg",
    ["args…"],
    "Returns its arguments.",
    ({ positional, named }) =>
      new ValueMap([
        ["args", new Tuple(positional)],
        ["kwargs", new ValueMap(named)],
      ]),
  ),
  saltFunction(
    "test.provider",
    ["module"],
    "Returns the name that Salt gives to a module of this host.",
    ([module], { facts }) => providerOf(textOf(module as Value), facts()),
  ),
  saltFunction(
    "mine.get",
    ["tgt", "fun", "tgt_type?", "exclude_minion?"],
    "Returns an empty map, because svc has no mine.",
    () => new ValueMap(),
  ),
  saltFunction("saltutil.is_running", ["fun"], "Returns an empty list.", () => []),
];

function providerOf(module: string, facts: ValueMap): Value {
  if (module === "service") return facts.get("init") === "systemd" ? "systemd_service" : "service";
  if (module === "pkg") return facts.get("os_family") === "Debian" ? "aptpkg" : "yumpkg";
  return module;
}
