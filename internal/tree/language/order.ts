import type { Place, Requisite, RequisiteKind } from "../function/mod.ts";
import type { Compat } from "../template/mod.ts";
import { withNeededAhead } from "./needed-ahead.ts";

/** The fields that decide the order of a state. */
export interface Orderable extends Place {
  id: string;
  name: string;
  function: string;
  sortBy: number | "first" | "last" | undefined;
  /** Whether it comes after all states that are defined, unless `sortBy` says where. */
  isLate?: boolean;
  /** Targets are indexes into the states. */
  requisites: readonly Requisite[];
}

/** A cycle of states in which each needs the next; the last one equals the first. */
export class Cycle extends Error {
  readonly path: readonly number[];

  constructor(path: readonly number[]) {
    super("requisites need each other");
    this.path = path;
  }
}

/**
 * Orders states by `order`, then by definition; the states that a state needs come right before it. The order
 * is deterministic.
 *
 * @param compat several states that one needs keep their own order; with `salt` they have the order in which the state
 *   names them, kind by kind, as up to Salt 3007 (`State.call_chunk`), and states with the same number have the order of
 *   their module and name (`Compiler.order_chunks`)
 * @returns indexes of the states
 * @throws Cycle
 */
export function orderStates(states: readonly Orderable[], compat: Compat = "strict"): number[] {
  const ranks = states.map(({ sortBy, isLate }, index) => rankOf(sortBy, isLate === true ? late : index));
  const tied = compat === "salt" ? states.map(saltsText) : [];
  const byText = (a: number, b: number) => compareTexts(tied[a] ?? "", tied[b] ?? "");
  const byRank = (a: number, b: number) =>
    compareNumbers(ranks[a] ?? 0, ranks[b] ?? 0) || byText(a, b) || a - b;
  const own = states.map((state) => needsOf(state, compat, byRank));
  const all = withNeededAhead(own, states);
  // What is needed ahead has its place among what is needed anyway; Salt looks at it last.
  const needs = compat === "strict" ? all.map((each) => [...each].sort(byRank)) : all;
  const sorted = states.map((_, index) => index).sort(byRank);
  const ordered: number[] = [];
  const seen = new Uint8Array(states.length);
  // Iterative, because a chain of requisites may be longer than the call stack allows.
  for (const root of sorted) {
    const trail: { state: number; left: number[] }[] = [];
    const enter = (state: number) => {
      seen[state] = open;
      trail.push({ state, left: [...(needs[state] ?? [])].reverse() });
    };
    if (seen[root] === unseen) enter(root);
    for (let top = trail.at(-1); top !== undefined; top = trail.at(-1)) {
      const next = top.left.pop();
      if (next === undefined) {
        seen[top.state] = placed;
        ordered.push(top.state);
        trail.pop();
      } else if (seen[next] === open) {
        const path = trail.map(({ state }) => state);
        throw new Cycle([...path.slice(path.indexOf(next)), next]);
      } else if (seen[next] === unseen) enter(next);
    }
  }
  return ordered;
}

const unseen = 0;
const open = 1;
const placed = 2;

/** The order in which Salt looks at the requisites of a state. */
const salts: readonly RequisiteKind[] = [
  ...(["require", "require_any", "watch", "watch_any"] as const),
  ...(["onfail", "onfail_all", "onchanges", "onchanges_any"] as const),
];

/**
 * The states that must come before a state, with `salt` in their order. A target of `prereq` requires the state itself; `listen`
 * waits for the end of the run.
 */
function needsOf(
  { requisites }: Orderable,
  compat: Compat,
  byRank: (a: number, b: number) => number,
): readonly number[] {
  const before = requisites.filter(({ kind }) => kind !== "listen" && kind !== "prereq");
  if (compat === "strict") return [...new Set(before.flatMap(({ targets }) => targets))];
  const named = salts.flatMap((kind) => before.filter((each) => each.kind === kind));
  return [...new Set(named.flatMap(({ targets }) => [...targets].sort(byRank)))];
}

/** What Salt sorts states with the same number by. */
function saltsText({ function: called, name }: Orderable): string {
  const dot = called.indexOf(".");
  return `${called.slice(0, dot)}${name}${called.slice(dot + 1)}`;
}

function compareTexts(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** Infinite ranks are equal to themselves. */
function compareNumbers(one: number, other: number): number {
  return one === other ? 0 : one - other;
}

/** Positions by definition start here, so that every explicit `order` comes before them. */
const definitions = 1e9;
/** After the position of any definition; Salt gives what `extend` adds no position. */
const late = 1e9;

function rankOf(sortBy: Orderable["sortBy"], index: number): number {
  if (sortBy === undefined) return definitions + index;
  if (sortBy === "first") return Number.NEGATIVE_INFINITY;
  if (sortBy === "last") return Number.POSITIVE_INFINITY;
  // Negative numbers count from the end, as in Salt.
  return sortBy >= 0 ? sortBy : Number.MAX_SAFE_INTEGER + sortBy;
}
