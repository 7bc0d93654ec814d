import { quote } from "../../../base/cut.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { suggestion } from "../../../base/nearest.ts";
import { isMap } from "../../../base/plain-map.ts";
import {
  arg,
  argumentProblem,
  type CallArgs,
  checkArguments,
  FunctionFailure,
  functionNamed,
  functionNames,
  type ModuleFunction,
} from "../../../host/modules/mod.ts";
import { type Plan, type StateContext, StateFailure, type StateFunction } from "../../function/mod.ts";
import { unchanged } from "../steps.ts";

const openArgs = arg.any(
  "The arguments of the function by name, with m_name for its argument name; or functions by name, each with a list of its arguments.",
);

/** States that call the functions of the peel. They report a change each time, unless a condition keeps them from running. */
export const moduleStates: readonly StateFunction[] = [
  {
    name: "module.run",
    doc: "Calls functions of the peel, such as service.restart. Either name is the function and the other arguments are its own, or each argument is a function: `- service.restart: [nginx]`.",
    args: {},
    openArgs,
    warn: warnOfCalls,
    plan: (name, args, context) => planCalls(name, args, context),
    onWatch: (name, args, context) => planCalls(name, args, context),
  },
  {
    name: "module.wait",
    doc: "Calls functions of the peel only if a watched state has changed. Takes the arguments of module.run.",
    args: {},
    openArgs,
    warn: warnOfCalls,
    plan: () => unchanged("no watched state has changed"),
    onWatch: (name, args, context) => planCalls(name, args, context),
  },
];

/** Before the state runs, nothing else says that a function is misspelt. */
function warnOfCalls(args: CallArgs, name: string): string | undefined {
  const named = Object.keys(args).filter((key) => key.includes("."));
  const missing = (named.length === 0 ? [name] : named).find((each) => !functionNames.includes(each));
  return missing === undefined ? undefined : noFunction(missing);
}

const noFunction = (name: string): string =>
  `the peel has no function ${quote(name)}${suggestion(name, functionNames)}`;

interface Call {
  called: ModuleFunction;
  args: CallArgs;
}

function planCalls(name: string, args: CallArgs, context: StateContext): Plan {
  const calls = callsOf(name, args);
  const names = calls.map(({ called }) => called.name).join(", ");
  return {
    changes: Object.fromEntries(calls.map(({ called, args }) => [called.name, shown(called, args)])),
    comment: `would be called: ${names}`,
    async apply() {
      const returned: { [name: string]: Plain } = {};
      for (const { called, args } of calls) {
        try {
          returned[called.name] = await context.call(called.name, args);
        } catch (cause) {
          if (!(cause instanceof FunctionFailure)) throw cause;
          throw new StateFailure(
            `${called.name} ${cause.message}`,
            { ...returned, [called.name]: cause.value },
            { cause },
          );
        }
        // A function that answers false did not do what it was called for.
        if (returned[called.name] === false)
          throw new StateFailure(`${called.name} returned false`, returned);
      }
      return { changes: returned, comment: `called: ${names}` };
    },
  };
}

/** Arguments may be secrets, unless the function says that they are not. */
function shown({ plainArgs }: ModuleFunction, args: CallArgs): Plain {
  return plainArgs === true ? { ...args } : Object.keys(args);
}

/** @throws StateFailure naming a function that does not exist, or an argument that it does not take */
function callsOf(name: string, args: CallArgs): Call[] {
  const named = Object.entries(args).filter(([key]) => key.includes("."));
  if (named.length === 0) return [callOf(name, oldForm(args))];
  return named.map(([key, value]) => callOf(key, newForm(value)));
}

interface Written {
  words: readonly Plain[];
  named: { [name: string]: Plain };
}

/** `- name: service.restart` with arguments next to it. */
function oldForm({ args, kwargs, returner: _, ...rest }: CallArgs): Written {
  const named: { [name: string]: Plain } = {};
  // Salt renames what would be an argument of the state itself.
  for (const [key, value] of Object.entries(rest)) named[key.startsWith("m_") ? key.slice(2) : key] = value;
  return {
    words: Array.isArray(args) ? args : args === undefined ? [] : [args],
    named: { ...named, ...mapOf(kwargs) },
  };
}

/** `- service.restart: [nginx]`, or `- service.restart: [{name: nginx}]`. */
function newForm(value: Plain): Written {
  const items = Array.isArray(value) ? value : value === null ? [] : [value];
  return {
    words: items.filter((item) => mapOf(item) === undefined),
    named: Object.assign({}, ...items.flatMap((item) => mapOf(item) ?? [])),
  };
}

function mapOf(value: Plain | undefined): { [name: string]: Plain } | undefined {
  return isMap(value) ? value : undefined;
}

function callOf(name: string, { words, named }: Written): Call {
  if (!functionNames.includes(name)) {
    throw new StateFailure(noFunction(name));
  }
  const called = functionNamed(name);
  const free = Object.keys(called.args).filter((each) => !Object.hasOwn(named, each));
  if (words.length > free.length)
    throw new StateFailure(`${name} takes at most ${free.length} more arguments`);
  const all = { ...named, ...Object.fromEntries(words.map((word, at) => [free[at] ?? "", word])) };
  const args = Object.fromEntries(
    Object.entries(all).map(([key, value]) => [key, fitted(called, key, value)]),
  );
  checkArguments(called, args);
  return { called, args };
}

/** Text where a number was written, and a list where a single item was. */
function fitted({ args }: ModuleFunction, name: string, value: Plain): Plain {
  const spec = Object.hasOwn(args, name) ? args[name] : undefined;
  if (spec === undefined || argumentProblem(spec, value) === undefined) return value;
  if (spec.type === "strings" && !Array.isArray(value)) return [String(value)];
  return typeof value === "number" && spec.type !== "boolean" ? String(value) : value;
}
