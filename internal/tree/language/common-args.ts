import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { nearest, suggestion } from "../../base/nearest.ts";
import { plainValue, type YamlNode } from "../../base/yaml/yaml.ts";
import { tagProblem } from "../../host/modules/mod.ts";
import {
  type Condition,
  type Place,
  type Problems,
  placeOf,
  type RequisiteKind,
  type Retry,
  requisiteKinds,
} from "../function/mod.ts";
import type { DeclaredArg } from "./declare.ts";

/** A requisite as written in a state file. */
export interface WrittenRequisite extends Place {
  kind: RequisiteKind;
  /** Whether it is an `_in` form, which makes the other states depend on this one. */
  reversed: boolean;
  /** `file`, `sls` or `id`; empty for a bare id. */
  module: string;
  reference: string;
}

/** Arguments that every state accepts in addition to those of its function. */
export interface CommonArgs {
  requisites: WrittenRequisite[];
  unless: Condition[];
  onlyif: Condition[];
  sortBy: number | "first" | "last" | undefined;
  failhard: boolean;
  parallel: boolean;
  /** Whether it takes later states of its function along, or is taken along by none. */
  aggregate: boolean | undefined;
  retry: Retry | undefined;
  /** Commands that must succeed after the state. */
  checks: string[];
  /** The state does not run if all these paths exist. */
  creates: string[];
  /** Tag of an event that is sent after the state. */
  event: string | undefined;
}

const reversible: readonly RequisiteKind[] = ["require", "watch", "onchanges", "onfail", "prereq", "listen"];
const requisiteArgs = new Map<string, { kind: RequisiteKind; reversed: boolean }>([
  ...requisiteKinds.map((kind) => [kind, { kind, reversed: false }] as const),
  // An entry of onfail needs one failed state as well.
  ["onfail_any", { kind: "onfail", reversed: false }] as const,
  ...reversible.map((kind) => [`${kind}_in`, { kind, reversed: true }] as const),
]);

/** What Salt's states take, and what means nothing here: functions are not loaded again. */
const withoutEffect = ["reload_modules", "reload_grains", "reload_pillar", "saltenv", "__env__"] as const;

/** Names of the arguments that every state accepts. */
export const commonNames: readonly string[] = [
  "name",
  "names",
  ...requisiteArgs.keys(),
  "unless",
  "onlyif",
  "order",
  "failhard",
  "parallel",
  "aggregate",
  "retry",
  "check_cmd",
  "creates",
  "fire_event",
  "use",
  "use_in",
  ...withoutEffect,
];
const common = new Set(commonNames);

export function isCommon(name: string): boolean {
  return common.has(name);
}

export function isRequisite(name: string): boolean {
  return requisiteArgs.has(name);
}

/**
 * Whether an argument that no function takes can only be meant as a requisite: its name is close to that of one, and its
 * value is a list of references.
 *
 * @returns the end of a message, with the requisite that may be meant
 */
export function requisiteMeant({ name, node }: DeclaredArg): string | undefined {
  if (common.has(name) || node.kind !== "list" || node.items.length === 0) return undefined;
  const isReference = (item: YamlNode) =>
    item.kind === "map" && item.entries.length === 1 && textOf(item.entries[0]?.value ?? item) !== undefined;
  if (!node.items.every(isReference)) return undefined;
  const isNear = name.length >= minMistake && nearest(name, requisiteNames) !== undefined;
  const begins = /^(?:require|watch|onchanges|onfail|prereq|listen|use)(?:_|s$)/.test(name);
  return isNear || begins ? suggestion(name, requisiteNames) : undefined;
}

const requisiteNames = [...requisiteArgs.keys()];
/** Shorter words are near to too many others. */
const minMistake = 6;

/** The defaults of the common arguments. */
export function noCommonArgs(): CommonArgs {
  return {
    ...{ requisites: [], unless: [], onlyif: [], checks: [], creates: [] },
    ...{ sortBy: undefined, failhard: false, parallel: false, aggregate: undefined },
    ...{ retry: undefined, event: undefined },
  };
}

/**
 * Reads one common argument, except `name` and `names`, into `into`.
 *
 * @param module of the state
 */
export function readCommon(into: CommonArgs, arg: DeclaredArg, module: string, problems: Problems): void {
  const requisite = requisiteArgs.get(arg.name);
  if (requisite !== undefined) {
    into.requisites.push(...readRequisites(requisite, arg, problems));
    return;
  }
  const wrong = (expected: string) => problems.add(`${arg.name}: expected ${expected}`, placeOf(arg));
  switch (arg.name) {
    case "unless":
    case "onlyif": {
      const items = arg.node.kind === "list" ? arg.node.items : [arg.node];
      for (const item of items) {
        const condition = readCondition(item);
        if (condition !== undefined) into[arg.name].push(condition);
        else wrong("a command, or a map with fun and the arguments of that function by name");
      }
      return;
    }
    case "order": {
      const value = arg.node.kind === "scalar" ? arg.node.value : undefined;
      if (value === "first" || value === "last" || Number.isSafeInteger(value)) {
        into.sortBy = value as number | "first" | "last";
      } else wrong("an integer, first or last");
      return;
    }
    case "failhard":
    case "parallel": {
      if (arg.node.kind === "scalar" && typeof arg.node.value === "boolean") into[arg.name] = arg.node.value;
      else wrong("true or false");
      return;
    }
    case "aggregate": {
      if (arg.node.kind === "scalar" && typeof arg.node.value === "boolean") into.aggregate = arg.node.value;
      else if (arg.node.kind === "list") into.aggregate = arg.node.items.map(textOf).includes(module);
      else wrong("true or false, or a list of modules, such as [pkg]");
      return;
    }
    case "retry":
      into.retry = readRetry(arg.node, wrong);
      return;
    case "check_cmd":
    case "creates": {
      const texts = textsOf(arg.node);
      if (texts === undefined)
        wrong(arg.name === "creates" ? "a path, or a list of paths" : "a command, or a list of commands");
      else into[arg.name === "creates" ? "creates" : "checks"].push(...texts);
      return;
    }
    case "fire_event": {
      const value = arg.node.kind === "scalar" ? arg.node.value : undefined;
      const tag = value === true ? defaultTag : value === false ? undefined : value;
      const problem = typeof tag === "string" ? tagProblem(tag) : undefined;
      if (tag !== undefined && (typeof tag !== "string" || problem !== undefined)) {
        wrong("true, or the tag of an event, such as deploy/done");
      } else into.event = tag;
    }
  }
}

function readRequisites(
  { kind, reversed }: { kind: RequisiteKind; reversed: boolean },
  arg: DeclaredArg,
  problems: Problems,
): WrittenRequisite[] {
  const items = arg.node.kind === "list" ? arg.node.items : [arg.node];
  return items.flatMap((item): WrittenRequisite[] => {
    const place = { file: arg.file, line: item.at.line };
    const bare = textOf(item);
    if (bare !== undefined) return [{ kind, reversed, module: "", reference: bare, ...place }];
    const entries = item.kind === "map" ? item.entries : [];
    const read = entries.flatMap(({ key, keyAt, value }) => {
      const reference = textOf(value);
      if (reference === undefined || key.includes(".")) return [];
      return [{ kind, reversed, module: key, reference, file: arg.file, line: keyAt.line }];
    });
    if (read.length === 0 || read.length < entries.length) {
      problems.add(
        `${arg.name}: expected items of the form "- module: id or name", such as "- pkg: nginx"`,
        place,
      );
    }
    return read;
  });
}

function readCondition(node: YamlNode): Condition | undefined {
  if (node.kind === "scalar") {
    return typeof node.value === "string" || typeof node.value === "boolean" ? node.value : undefined;
  }
  if (node.kind === "list") return undefined;
  const { fun, ...args } = plainValue(node) as { [name: string]: Plain };
  return typeof fun === "string" ? { fun, args } : undefined;
}

const seconds = 1000;
const salt: Retry = { attempts: 2, until: true, intervalMs: 30 * seconds, splayMs: 0 };

/** Uses Salt's defaults; a bare number is in seconds, and 0 attempts are one without a repetition, as in Salt. */
function readRetry(node: YamlNode, wrong: (expected: string) => void): Retry | undefined {
  if (node.kind === "scalar" && node.value === true) return { ...salt };
  if (node.kind === "scalar" && node.value === false) return undefined;
  const maps = node.kind === "list" ? node.items : [node];
  const retry = { ...salt };
  for (const { key, value } of maps.flatMap((each) => (each.kind === "map" ? each.entries : []))) {
    const data = value.kind === "scalar" ? value.value : undefined;
    if (key === "attempts" && Number.isSafeInteger(data) && Number(data) >= 0) retry.attempts = Number(data);
    else if (key === "until" && typeof data === "boolean") retry.until = data;
    else if (key === "interval" || key === "splay") {
      const ms = typeof data === "number" && data >= 0 ? data * seconds : durationOf(data);
      if (ms === undefined) wrong(`${key} as a duration such as 30s, or as seconds`);
      else retry[`${key}Ms`] = ms;
    } else wrong("attempts (0 or more), until (true or false), interval and splay (durations)");
  }
  return retry;
}

function durationOf(text: unknown): number | undefined {
  try {
    return typeof text === "string" ? parseDuration(text) : undefined;
  } catch (thrown) {
    if (thrown instanceof SvcError) return undefined;
    throw thrown;
  }
}

/** The tag of `fire_event: true`. */
const defaultTag = "state/result";

function textsOf(node: YamlNode): string[] | undefined {
  const texts = (node.kind === "list" ? node.items : [node]).map(textOf);
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

function textOf(node: YamlNode): string | undefined {
  if (node.kind !== "scalar") return undefined;
  return typeof node.value === "string" ? node.value : node.digits;
}
