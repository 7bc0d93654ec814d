import { beginningOf } from "../../base/cut.ts";
import type { Plain } from "../../base/msgpack.ts";
import { suggestion } from "../../base/nearest.ts";
import { type Budget, makeMap, type Taint, take, textOf, weighArgs } from "../jinja/mod.ts";
import {
  type Args,
  Callable,
  Facade,
  Fault,
  fromPlain,
  Undefined,
  Unknown,
  type Value,
  ValueMap,
  type World,
} from "../jinja/values/mod.ts";
import { type Answers, answerOf } from "./host-call.ts";
import type { SaltTools } from "./salt/function.ts";
import { choosesByFacts, pureFunctions, settingsFunctions } from "./salt/table.ts";
import type { Scope } from "./scope.ts";
import { tablesOf } from "./tables.ts";

type Values = Readonly<Record<string, Plain>>;

const tableNames = ["facts", "grains", "settings", "pillar"] as const;
type Table = (typeof tableNames)[number];

/** What one rendering has of its surroundings. */
export interface Surroundings extends Pick<SaltTools, "parse" | "readFile" | "paths" | "render"> {
  answers: Answers;
  taint: Taint;
}

/**
 * The global variables of one rendering. Values are copied when they are first used: a template may change what it
 * has, and the next one has them as they are.
 */
export function globalsOf(
  scope: Scope,
  variables: Values,
  surroundings: Surroundings,
): (name: string, budget: Budget) => Value | undefined {
  const made = new Map<string, Value>();
  const once = <T extends Value>(name: string, make: () => T): T => {
    const known = made.get(name);
    if (known !== undefined) return known as T;
    const value = make();
    made.set(name, value);
    return value;
  };
  const { facts, settings, shownSettings, labels, variable, readId } = tablesOf(
    scope,
    surroundings.taint,
    once,
  );
  const opts = () =>
    once("opts", () => {
      readId();
      return mapOf(optsOf(scope, variables));
    });
  const table = (name: Table): Value => (name === "facts" || name === "grains" ? facts() : settings());
  const functions = (budget: Budget): Value =>
    once("salt", () => {
      const { labels: named = {}, isOfSettings = false, check, watch } = scope;
      const known = <T>(word: string, inspect: () => T): T => {
        if (check?.unknown.has(word)) check.world.refuse();
        return inspect();
      };
      const tools = {
        ...{ ...surroundings, budget, isFixed: isOfSettings },
        facts: () => known("facts", facts),
        settings: () => known("settings", settings),
        shownSettings: () => known("settings", shownSettings),
        opts: () => known("opts", opts),
        get labels() {
          return known("labels", () => named);
        },
        ...(watch?.meets && { matches: watch.meets.bind(watch) }),
      };
      return functionsOf(scope, tools, surroundings.answers);
    });
  return (name, budget) => {
    if (scope.check?.unknown.has(name)) return new Unknown(scope.check.world);
    if (Object.hasOwn(variables, name)) return variable(name, variables[name]);
    switch (name) {
      case "labels":
        return labels();
      case "salt":
      case "svc":
        return functions(budget);
      case "opts":
        return opts();
      case "odict":
        return new Callable("odict", makeMap);
      case "raise":
        return new Callable("raise", (args) => {
          const [message = ""] = take("raise", args, ["msg?"]);
          throw new Fault(textOf(message), { isRaised: true });
        });
      case "show_full_context":
        return new Callable("show_full_context", () => {
          readId();
          scope.watch?.read("labels", [], "entries");
          const own = Object.entries(variables).map(([key, value]): [Value, Value] => [
            key,
            fromPlain(value),
          ]);
          return new ValueMap([...own, ["grains", facts()], ["pillar", settings()], ["opts", opts()]]);
        });
      default:
        return tableNames.some((each) => each === name) ? table(name as Table) : undefined;
    }
  };
}

/** The options of Salt that templates look at. */
function optsOf({ facts, opts = {} }: Scope, variables: Values): Values {
  const environment = variables.saltenv ?? "base";
  return {
    ...{ id: facts.id ?? "", __cli: "salt-minion", file_client: "remote", hash_type: "sha256", test: false },
    ...{
      saltenv: environment,
      pillarenv: environment,
      config_dir: "/etc/salt",
      conf_file: "/etc/salt/minion",
    },
    ...{ cachedir: "/var/cache/salt/minion", root_dir: "/", ...opts },
  };
}

function mapOf(values: Values): ValueMap {
  return new ValueMap(Object.entries(values).map(([key, value]) => [key, fromPlain(value)]));
}

/** What a function makes of what is unknown is unknown as well, even where the result does not contain it. */
function unlessLost(value: Value, { positional, named }: Args, world: World): Value {
  const isUnknown = (each: Value) =>
    each instanceof Unknown || (typeof each === "string" && world.isIn(each));
  if (typeof value !== "string" || isUnknown(value)) return value;
  return [...positional, ...named.values()].some(isUnknown) ? new Unknown(world) : value;
}

/** `salt['grains.get']` and `salt.grains.get`. */
function functionsOf(scope: Scope, tools: SaltTools, answers: Answers): Value {
  const { host, isOfSettings, guard, compat, check } = scope;
  const pure = isOfSettings === true ? settingsFunctions : pureFunctions;
  const named = (name: string): Value => {
    if (guard?.refusesChoices === true && choosesByFacts(name)) {
      throw new Fault("a function that looks at facts chooses, which settings.strict_facts refuses");
    }
    const own = pure.get(name);
    if (own !== undefined) {
      return new Callable(name, (args) => {
        weighArgs(args, tools.budget);
        const value = own.call(args, tools);
        return check === undefined ? value : unlessLost(value, args, check.world);
      });
    }
    if (check !== undefined) return new Unknown(check.world);
    const isKnown = host?.names.includes(name) === true;
    const refused = isKnown ? host?.refusal(name) : reasonAgainst(name, names());
    if (refused === undefined) return new Callable(name, (args) => answerOf(name, args, answers));
    const shown = `salt['${beginningOf(name, 60)}']`;
    return new Undefined(shown, false, `${shown} ${refused}`);
  };
  // Only looked at where a name needs it: most templates ask for few functions.
  const names = () => [...pure.keys(), ...(host?.names ?? [])];
  const modules = () => [...new Set(names().map((each) => each.slice(0, each.indexOf("."))))];
  return new Facade("salt", (name) => {
    if (name.includes(".")) return named(name);
    if (name === "get")
      return new Callable("get", (args) => {
        const [wanted, fallback = null] = take("get", args, ["key", "default?"]);
        const found = named(textOf(wanted as Value));
        return found instanceof Undefined ? fallback : found;
      });
    if (modules().includes(name)) return new Facade(`salt.${name}`, (inner) => named(`${name}.${inner}`));
    if (check !== undefined) return new Unknown(check.world);
    const shown = `salt.${beginningOf(name, 60)}`;
    const reason = `${shown} ${reasonAgainst(name, modules())}`;
    return new Undefined(shown, compat === "salt", reason);
  });
}

function reasonAgainst(name: string, names: readonly string[]): string {
  return `does not exist in templates${suggestion(name, names)}`;
}
