import { quote } from "../../base/cut.ts";
import type { Plain } from "../../base/msgpack.ts";
import { suggestion } from "../../base/nearest.ts";
import { isNothing, plainValue, type YamlNode } from "../../base/yaml/yaml.ts";
import { type ArgSpec, argumentProblem, type CallArgs, expectation } from "../../host/modules/mod.ts";
import { type Problems, placeOf, type StateFunction } from "../function/mod.ts";
import type { Compat } from "../template/mod.ts";
import { type CommonArgs, commonNames, isCommon, noCommonArgs, readCommon } from "./common-args.ts";
import type { DeclaredArg, DeclaredFunction } from "./declare.ts";
import { looseValue } from "./loose.ts";

/** One name of a state with its arguments. */
export interface ReadState extends CommonArgs {
  name: string;
  args: { [name: string]: Plain };
}

/**
 * Reads the arguments of a declared function: one result for each of its `names`, or one for its `name`, or
 * else for its id. Adds every error to `problems`.
 */
export function readArguments(
  id: string,
  declared: DeclaredFunction,
  called: StateFunction,
  problems: Problems,
  compat: Compat = "strict",
): ReadState[] {
  const own = read(declared.args, declared, called, problems, compat);
  if (own.names === undefined) return [finish(own.name ?? id, [own], declared, called, problems)];
  return own.names.map(({ name, args }) =>
    finish(name, [own, read(args, declared, called, problems, compat)], declared, called, problems),
  );
}

interface Read {
  name: string | undefined;
  names: { name: string; args: DeclaredArg[] }[] | undefined;
  values: { [name: string]: Plain };
  common: CommonArgs;
}

function read(
  args: readonly DeclaredArg[],
  declared: DeclaredFunction,
  called: StateFunction,
  problems: Problems,
  compat: Compat,
): Read {
  const found: Read = { name: undefined, names: undefined, values: {}, common: noCommonArgs() };
  const variables: { [name: string]: Plain } = {};
  for (const arg of args) {
    if (arg.name === "name") {
      const name = typedValue({ type: "string", doc: "" }, arg.node);
      if (typeof name === "string" && (name !== "" || called.emptyName === true)) found.name = name;
      else problems.add(`${declared.function}: name: expected a string`, placeOf(arg));
    } else if (arg.name === "names") {
      found.names = readNames(arg, declared, problems);
    } else if (isCommon(arg.name) && !Object.hasOwn(called.args, arg.name)) {
      if (compat === "salt" && isNothing(arg.node)) {
        problems.warn(`${declared.function}: ${arg.name}: null counts as not given`, placeOf(arg));
      } else readCommon(found.common, arg, declared.module, problems);
    } else if (compat === "salt" && isVariable(arg.name, called)) {
      variables[arg.name] = plainValue(arg.node) as Plain;
      problems.warn(
        `${declared.function}: ${arg.name}: a variable of the template; write it in context`,
        placeOf(arg),
      );
    } else {
      readOwn(found.values, arg, declared, called, problems, compat);
    }
  }
  if (Object.keys(variables).length > 0) {
    found.values.context = {
      ...variables,
      ...(found.values.context as { [name: string]: Plain } | undefined),
    };
  }
  return found;
}

/** Salt hands what a state with a template does not know to the template. */
function isVariable(name: string, { args }: StateFunction): boolean {
  return args.template !== undefined && args.context?.type === "map" && !Object.hasOwn(args, name);
}

function readOwn(
  into: { [name: string]: Plain },
  arg: DeclaredArg,
  declared: DeclaredFunction,
  called: StateFunction,
  problems: Problems,
  compat: Compat,
): void {
  const open = called.openArgs ?? (compat === "salt" ? called.saltArgs : undefined);
  const spec = Object.hasOwn(called.args, arg.name) ? called.args[arg.name] : open;
  if (spec === undefined) {
    const names = [...Object.keys(called.args), ...commonNames];
    const shown = quote(arg.name);
    const message = `${declared.function}: unknown argument ${shown}${suggestion(arg.name, names)}`;
    if (compat === "salt" && called.needsAll === undefined)
      problems.warn(`${message}: ignored`, placeOf(arg));
    else problems.add(message, placeOf(arg));
    return;
  }
  const value = typedValue(spec, arg.node);
  const problem = argumentProblem(spec, value);
  if (problem === undefined) {
    into[arg.name] = value;
    return;
  }
  const loose = compat === "salt" ? looseValue(spec, arg.node, value) : undefined;
  if (loose === undefined || argumentProblem(spec, loose.value) !== undefined) {
    problems.add(`${declared.function}: ${arg.name}: ${problem}`, placeOf(arg));
    return;
  }
  problems.warn(`${declared.function}: ${arg.name}: ${loose.note}`, placeOf(arg));
  if (loose.value !== undefined) into[arg.name] = loose.value;
}

function finish(
  name: string,
  reads: readonly [Read] | readonly [Read, Read],
  declared: DeclaredFunction,
  called: StateFunction,
  problems: Problems,
): ReadState {
  const [first, second] = reads;
  const args = second === undefined ? first.values : { ...first.values, ...second.values };
  for (const each in called.args) {
    const spec = called.args[each];
    if (spec?.required !== true || args[each] !== undefined) continue;
    // An invalid argument is already reported.
    if (declared.args.some((arg) => arg.name === each)) continue;
    problems.add(`${declared.function}: ${each}: missing; expected ${expectation(spec)}`, placeOf(declared));
  }
  const refused = called.refuse?.(args);
  if (refused !== undefined) problems.add(`${declared.function}: ${refused}`, placeOf(declared));
  const warned = called.warn?.(args, name);
  if (warned !== undefined) problems.warn(`${declared.function}: ${warned}`, placeOf(declared));
  return { name, args, ...(second === undefined ? first.common : mergeCommon(first.common, second.common)) };
}

function mergeCommon(first: CommonArgs, second: CommonArgs): CommonArgs {
  return {
    requisites: [...first.requisites, ...second.requisites],
    unless: [...first.unless, ...second.unless],
    onlyif: [...first.onlyif, ...second.onlyif],
    sortBy: second.sortBy ?? first.sortBy,
    failhard: first.failhard || second.failhard,
    parallel: first.parallel || second.parallel,
    aggregate: second.aggregate ?? first.aggregate,
    retry: second.retry ?? first.retry,
    checks: [...first.checks, ...second.checks],
    creates: [...first.creates, ...second.creates],
    event: second.event ?? first.event,
  };
}

/** Items of `names` are names, or maps from one name to the arguments of that name alone. */
function readNames(arg: DeclaredArg, declared: DeclaredFunction, problems: Problems): Read["names"] {
  const items = arg.node.kind === "list" ? arg.node.items : [];
  const names = items.flatMap((item) => {
    if (item.kind !== "map") {
      const name = typedValue({ type: "string", doc: "" }, item);
      return typeof name === "string" ? [{ name, args: [] }] : [];
    }
    return item.entries.map(({ key, value }) => ({ name: key, args: overridesOf(value, arg.file) }));
  });
  if (names.length > 0 && names.length >= items.length) return names;
  problems.add(`${declared.function}: names: expected a list of names`, placeOf(arg));
  return [];
}

function overridesOf(node: YamlNode, file: string): DeclaredArg[] {
  const maps = node.kind === "list" ? node.items : [node];
  return maps.flatMap((each) =>
    each.kind === "map"
      ? each.entries.map(({ key, keyAt, value }) => ({ name: key, node: value, file, line: keyAt.line }))
      : [],
  );
}

/**
 * Converts a value to the type of its argument. Where a string is expected, a number keeps its written form:
 * version 1.10, mode 0644, user 1000. Where a list of strings is expected, one string becomes a list of one.
 */
function typedValue(spec: ArgSpec, node: YamlNode): Plain {
  if (spec.type === "string" || spec.type === "mode") return textOrValue(node);
  if (spec.type !== "strings") return plainValue(node) as Plain;
  if (node.kind === "list") return node.items.map(textOrValue);
  const value = textOrValue(node);
  return typeof value === "string" ? [value] : value;
}

function textOrValue(node: YamlNode): Plain {
  return node.kind === "scalar" && node.digits !== undefined ? node.digits : (plainValue(node) as Plain);
}

/**
 * Checks the arguments of a single state that is not declared in a file.
 *
 * @returns the problems found
 */
export function problemsOfCall(called: StateFunction, args: CallArgs): string[] {
  const unknown =
    called.openArgs === undefined
      ? Object.keys(args).filter((name) => !Object.hasOwn(called.args, name))
      : [];
  const wrong = Object.entries(called.args).flatMap(([name, spec]) => {
    if (args[name] === undefined) {
      return spec.required === true ? [`${name}: missing; expected ${expectation(spec)}`] : [];
    }
    const problem = argumentProblem(spec, args[name]);
    return problem === undefined ? [] : [`${name}: ${problem}`];
  });
  const refused = called.refuse?.(args);
  return [
    ...unknown.map(
      (name) => `unknown argument ${JSON.stringify(name)}${suggestion(name, Object.keys(called.args))}`,
    ),
    ...wrong,
    ...(refused === undefined ? [] : [refused]),
  ].map((problem) => `${called.name}: ${problem}`);
}
