import { posix } from "node:path";
import { quote } from "../../base/cut.ts";
import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { suggestion } from "../../base/nearest.ts";
import { isMap } from "../../base/plain-map.ts";
import { parseYaml, plainValue } from "../../base/yaml/yaml.ts";
import type { ArgSpec, ArgType, ModuleFunction } from "./function.ts";

/** Anything with a name and a table of arguments. */
type Called = Pick<ModuleFunction, "name" | "args">;

/** Description of an argument type for messages: "expected …". */
const words: Record<ArgType, string> = {
  string: "a string",
  integer: "an integer",
  number: "a number",
  boolean: "true or false",
  duration: "a duration: a number and a unit (ms, s, m, h, d), such as 90s or 1h30m",
  path: "an absolute path without . or ..",
  mode: "three or four octal digits as a string, such as 0644",
  strings: "a list of strings",
  map: "a map",
  any: "a value",
};

/**
 * Checks the arguments of a call against the function's table.
 *
 * @throws SvcError `bad_request`: `cmd.run: timeout: expected a duration …`
 */
export function checkArguments(called: ModuleFunction, args: Readonly<Record<string, unknown>>): void {
  checkGiven(called, args);
  for (const [name, spec] of Object.entries(called.args)) {
    if (spec.required !== true || args[name] !== undefined) continue;
    throw refusal(called, `${name}: missing; expected ${expectation(spec)}`);
  }
  const problem = called.refuse?.(args as Readonly<Record<string, Plain>>);
  if (problem !== undefined) throw refusal(called, problem);
}

/** Checks the type of each argument that a call has. @throws SvcError `bad_request` naming it */
export function checkGiven(called: ModuleFunction, args: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(args)) {
    const problem = argumentProblem(specOf(called, name), value);
    if (problem !== undefined) throw refusal(called, `${name}: ${problem}`);
  }
}

/**
 * Parses the words after the function's name on a command line. A word `key=value` whose key is an argument
 * of the function sets that argument; the other words are the remaining arguments in the declared order. A
 * function with open arguments accepts every `key=value` after the required ones, as text.
 *
 * Only the type of the argument decides how a word is parsed: a string is used literally, a list is `a,b,c`
 * or YAML, a map or a value of any type is YAML or JSON.
 *
 * @throws SvcError `bad_request` naming the argument
 */
export function readCommandLine(called: ModuleFunction, line: readonly string[]): Record<string, Plain> {
  const names = Object.keys(called.args);
  const args = new Map<string, Plain>();
  const plain: string[] = [];
  const open = new Map<string, Plain>();
  const required = names.filter((name) => called.args[name]?.required === true).length;
  for (const word of line) {
    const at = word.indexOf("=");
    const name = word.slice(0, Math.max(0, at));
    if (!names.includes(name)) {
      const isOpen = called.openArgs !== undefined && /^[a-z_]\w*$/i.test(name);
      if (!isOpen || plain.length + args.size < required) plain.push(word);
      else if (open.has(name)) throw refusal(called, `${name}: given twice`);
      else open.set(name, word.slice(at + 1));
      continue;
    }
    if (args.has(name)) throw refusal(called, `${name}: given twice`);
    args.set(name, readArgument(called, name, word.slice(at + 1)));
  }
  const free = names.filter((name) => !args.has(name));
  for (const [index, word] of plain.entries()) {
    const name = free[index];
    if (name === undefined) {
      throw refusal(
        called,
        names.length === 0
          ? `expected no arguments, got ${quote(word)}`
          : `unexpected argument ${quote(word)}: quote a value that contains spaces`,
      );
    }
    args.set(name, readArgument(called, name, word));
  }
  if (called.openArgs !== undefined && open.size > 0) {
    const given = args.get(called.openArgs);
    args.set(called.openArgs, {
      ...(given as Record<string, Plain> | undefined),
      ...Object.fromEntries(open),
    });
  }
  return Object.fromEntries(args);
}

/** The signature of a function, for people: `file.read path [offset] [limit]`. */
export function signatureOf(called: ModuleFunction): string {
  const args = Object.entries(called.args).map(([name, spec]) => (spec.required ? name : `[${name}]`));
  return [called.name, ...args].join(" ");
}

/** Describes the expected value of an argument. */
export function expectation({ type, values, min, max }: ArgSpec): string {
  if (values !== undefined) return `one of ${values.join(", ")}`;
  const range = [min === undefined ? "" : ` from ${min}`, max === undefined ? "" : ` to ${max}`].join("");
  return `${words[type]}${range}`;
}

function specOf(called: Called, name: string): ArgSpec {
  const names = Object.keys(called.args);
  const spec = names.includes(name) ? called.args[name] : undefined;
  if (spec !== undefined) return spec;
  throw refusal(called, `unknown argument ${quote(name)}${suggestion(name, names)}`);
}

/** The problem with a value, or `undefined`. */
export function argumentProblem(spec: ArgSpec, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const fits = checks[spec.type](value) && isWithin(spec, value);
  return fits ? undefined : `expected ${expectation(spec)}`;
}

const checks: Record<ArgType, (value: unknown) => boolean> = {
  string: isText,
  integer: (value) => Number.isSafeInteger(value),
  number: (value) => Number.isFinite(value),
  boolean: (value) => typeof value === "boolean",
  duration: isDuration,
  path: (value) => isText(value) && isCleanPath(value),
  mode: (value) => isText(value) && /^[0-7]{3,4}$/.test(value),
  strings: (value) => Array.isArray(value) && value.every(isText),
  map: isMap,
  any: () => true,
};

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isDuration(value: unknown): boolean {
  if (!isText(value)) return false;
  try {
    parseDuration(value);
    return true;
  } catch {
    return false;
  }
}

/** Whether a path is absolute and normalized; a trailing slash is allowed. */
function isCleanPath(path: string): boolean {
  return path.startsWith("/") && !path.includes("\0") && posix.normalize(path) === path;
}

function isWithin({ values, min, max }: ArgSpec, value: unknown): boolean {
  if (values !== undefined) return isText(value) && values.includes(value);
  if (typeof value !== "number") return true;
  return (min === undefined || value >= min) && (max === undefined || value <= max);
}

/**
 * Parses the value of an argument from a command line.
 *
 * @throws SvcError `bad_request` naming the function and the argument
 */
export function readArgument(called: Called, name: string, text: string): Plain {
  const spec = specOf(called, name);
  const value = read(called, name, spec.type, text);
  const problem = argumentProblem(spec, value);
  if (problem !== undefined) throw refusal(called, `${name}: ${problem}`);
  return value as Plain;
}

function read(called: Called, name: string, type: ArgType, text: string): unknown {
  switch (type) {
    case "integer":
      return /^[+-]?\d+$/.test(text) ? Number(text) : unreadable;
    case "number":
      return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : unreadable;
    case "boolean":
      return text === "true" ? true : text === "false" ? false : unreadable;
    case "strings":
      if (text.trimStart().startsWith("[")) return readYaml(called, name, text);
      return text === "" ? [] : text.split(",");
    case "map":
    case "any":
      return readYaml(called, name, text);
    default:
      return text;
  }
}

/** A value that every type rejects. */
const unreadable = Symbol("unreadable");

function readYaml(called: Called, name: string, text: string): unknown {
  return plainValue(parseYaml(text, `${called.name}: ${name}`));
}

function refusal(called: Called, problem: string): SvcError {
  return new SvcError("bad_request", `${called.name}: ${problem}`);
}
