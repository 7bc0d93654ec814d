import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";

/** A state as `state.show_highstate` shows it. */
export interface OwnState {
  id: string;
  function: string;
  name: string;
  args: Readonly<Record<string, Plain>>;
}

/** A state as Salt's `state.show_lowstate` shows it. */
export type SaltState = Readonly<Record<string, unknown>>;

/** A state, as a message names it. */
export interface NamedState {
  function: string;
  id: string;
  name: string;
}

/** How the states of Salt and ours differ. */
export interface LowDifference {
  states: number;
  only_salt: NamedState[];
  only_here: NamedState[];
  /** The first place where the same states are in another order. */
  order?: { position: number; salt: NamedState; here: NamedState };
  arguments: { state: NamedState; argument: string; salt: Plain; here: Plain }[];
  /** Whether nothing above was found. */
  same: boolean;
}

const internal = /^(?:state|fun|name|order|prerequired|__.*__)$/;

/**
 * Compares what Salt would run with what runs here. Values are equal when Salt's state modules treat them alike:
 * `644`, `0644` and `"0644"`.
 *
 * @param common arguments that every state accepts; the order and the requisites of Salt are compared apart
 */
export function compareLow(
  salt: readonly SaltState[],
  here: readonly OwnState[],
  common: readonly string[],
): LowDifference {
  const theirs = keyed(salt, saltName);
  const ours = keyed(here, ({ function: called, id, name }) => ({ function: called, id, name }));
  const missing = theirs.filter(({ key }) => !ours.some((each) => each.key === key));
  const more = ours.filter(({ key }) => !theirs.some((each) => each.key === key));
  const ownByKey = new Map(ours.map((each) => [each.key, each]));
  const both = theirs.filter(({ key }) => ownByKey.has(key));
  const inOrder = ours.filter(({ key }) => both.some((each) => each.key === key));
  const at = both.findIndex(({ key }, index) => inOrder[index]?.key !== key);
  const [first, other] = [both[at], inOrder[at]];
  const found: LowDifference["arguments"] = both.flatMap(({ key, name, state }) => {
    const own = ownByKey.get(key)?.state;
    return own === undefined
      ? []
      : differentArguments(state, own, common).map((each) => ({ state: name, ...each }));
  });
  return {
    states: both.length,
    only_salt: missing.map(({ name }) => name),
    only_here: more.map(({ name }) => name),
    ...(first === undefined || other === undefined
      ? {}
      : { order: { position: at + 1, salt: first.name, here: other.name } }),
    arguments: found,
    same: missing.length + more.length + found.length === 0 && first === undefined,
  };
}

interface Keyed<State> {
  key: string;
  name: NamedState;
  state: State;
}

/** States that are alike in all three names are distinguished by their number. */
function keyed<State>(states: readonly State[], nameOf: (state: State) => NamedState): Keyed<State>[] {
  const seen = new Map<string, number>();
  return states.map((state) => {
    const name = nameOf(state);
    const key = JSON.stringify([name.function, name.id, name.name]);
    const count = (seen.get(key) ?? 0) + 1;
    seen.set(key, count);
    return { key: `${key} ${count}`, name, state };
  });
}

function saltName({ state, fun, name, __id__: id }: SaltState): NamedState {
  return { function: `${state}.${fun}`, id: String(id), name: String(name) };
}

function differentArguments(salt: SaltState, own: OwnState, common: readonly string[]) {
  const isOwn = (name: string) => !internal.test(name) && !common.includes(name);
  const names = new Set([...Object.keys(salt).filter(isOwn), ...Object.keys(own.args).filter(isOwn)]);
  const { context = null } = own.args;
  // Salt hands what a state with a template does not know to the template; here it is a part of the context.
  const isVariable = (name: string) =>
    isMap(context) &&
    isOwn(name) &&
    Object.hasOwn(context, name) &&
    !Object.hasOwn(own.args, name) &&
    salt[name] !== undefined;
  const given = isMap(context)
    ? Object.fromEntries(Object.entries(context).filter(([name]) => !isVariable(name)))
    : context;
  const isMade = isMap(given) && Object.keys(given).length === 0 && (salt.context ?? null) === null;
  return [...names].sort().flatMap((argument) => {
    const theirs = plain(salt[argument]);
    const shown = isVariable(argument) && isMap(context) ? context[argument] : own.args[argument];
    const ours = (argument === "context" ? (isMade ? null : given) : shown) ?? null;
    return canonical(theirs, argument) === canonical(ours, argument)
      ? []
      : [{ argument, salt: theirs, here: ours }];
  });
}

function plain(value: unknown): Plain {
  return (value ?? null) as Plain;
}

/** One text for all values that mean the same. Arguments of Salt that are lists of maps with one key are maps. */
function canonical(value: Plain, argument: string): string {
  if (Array.isArray(value)) {
    const isMaps = value.length > 0 && value.every((item) => isMap(item) && Object.keys(item).length === 1);
    if (isMaps) return canonical(Object.assign({}, ...value), argument);
    const [only] = value;
    // A single value is a list of one.
    if (value.length === 1 && only !== undefined && !isMaps) return canonical(only, argument);
    return JSON.stringify(value.map((item) => canonical(item, argument)));
  }
  if (isMap(value)) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return JSON.stringify(entries.map(([key, item]) => [key, canonical(item, "")]));
  }
  const text =
    value === null ? "" : typeof value === "boolean" ? String(value) : String(value).replace(/\n$/, "");
  // A path is one without empty parts.
  if (text.startsWith("/")) return text.replace(/\/{2,}/g, "/");
  return /mode$/.test(argument) ? text.replace(/^0+(?=[0-7]{3})/, "") : text;
}
