import type { Plain } from "../../base/msgpack.ts";
import { headline } from "../function/mod.ts";
import type { Order, PlannedState } from "./order.ts";

/** How one ordered state differs. */
export interface Change {
  readonly op: "+" | "~" | "-";
  readonly function: string;
  readonly id: string;
  readonly name: string;
  /** What decides how it runs; absent where it was not ordered. */
  readonly before?: Shown;
  readonly after?: Shown;
}

/** Arguments, requisites and conditions, by name. */
export type Shown = Readonly<Record<string, Plain>>;

/** A change, with the states that it is about. */
export interface FoundChange {
  readonly change: Change;
  readonly before?: PlannedState;
  readonly after?: PlannedState;
}

/** Compares what is ordered now with what would be ordered. */
export function compareOrders(before: Order, after: Order): FoundChange[] {
  const pairs = pairStates(before.states, after.states);
  const moved = movedIn(pairs, before.states, after.states);
  return [
    ...pairs.removed.map((state) => ({ change: changeOf("-", state, undefined), before: state })),
    ...pairs.matched.flatMap(({ old, now }) =>
      old.key === now.key && !moved.has(now)
        ? []
        : [
            {
              change: changeOf("~", old, now, old.key === now.key ? moved.get(now) : undefined),
              before: old,
              after: now,
            },
          ],
    ),
    ...pairs.added.map((state) => ({ change: changeOf("+", undefined, state), after: state })),
  ];
}

/** Why nothing would be ordered, one line each. */
export const problemsOf = ({ problems }: Order): string[] => [...new Set(problems.map(headline))];

interface Pairs {
  matched: { old: PlannedState; now: PlannedState }[];
  removed: PlannedState[];
  added: PlannedState[];
}

const names: readonly ((state: PlannedState) => string)[] = [
  ({ key }) => key,
  ({ function: called, id, name }) => `${called}\0${id}\0${name}`,
  ({ function: called, name }) => `${called}\0${name}`,
  ({ function: called, id }) => `${called}\0${id}`,
];

/** Pairs the states of two orders: equal ones first, then those that are the same object. */
function pairStates(old: readonly PlannedState[], now: readonly PlannedState[]): Pairs {
  const partner = new Map<number, PlannedState>();
  let left = [...old];
  for (const nameOf of names) {
    const waiting = new Map<string, PlannedState[]>();
    for (const state of left) {
      const name = nameOf(state);
      waiting.set(name, [...(waiting.get(name) ?? []), state]);
    }
    for (const [at, state] of now.entries()) {
      if (partner.has(at)) continue;
      const found = waiting.get(nameOf(state))?.shift();
      if (found !== undefined) partner.set(at, found);
    }
    left = [...waiting.values()].flat();
  }
  const matched = [...partner].sort(([a], [b]) => a - b);
  return {
    matched: matched.flatMap(([at, found]) => {
      const state = now[at];
      return state === undefined ? [] : [{ old: found, now: state }];
    }),
    removed: left.sort((a, b) => old.indexOf(a) - old.indexOf(b)),
    added: now.filter((_, at) => !partner.has(at)),
  };
}

/** The states that run before or after others than they do now, each with what they come after. */
function movedIn(
  { matched }: Pairs,
  before: readonly PlannedState[],
  after: readonly PlannedState[],
): Map<PlannedState, { before: string; after: string }> {
  const places = new Map<PlannedState, number[]>();
  for (const [at, state] of before.entries()) places.set(state, [...(places.get(state) ?? []), at]);
  const order = matched.map(({ old }) => places.get(old)?.shift() ?? 0);
  const stays = increasing(order);
  const moved = new Map<PlannedState, { before: string; after: string }>();
  for (const [at, { now }] of matched.entries()) {
    if (stays.has(at)) continue;
    const was = before[(order[at] ?? 0) - 1];
    moved.set(now, { before: placeAfter(was), after: placeAfter(after[after.indexOf(now) - 1]) });
  }
  return moved;
}

const placeAfter = (state: PlannedState | undefined): string =>
  state === undefined ? "first" : `after ${state.function} ${state.name}`;

/** The positions of a maxLength increasing part. */
function increasing(numbers: readonly number[]): Set<number> {
  const ends: number[] = [];
  const from: (number | undefined)[] = [];
  for (const [at, value] of numbers.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((numbers[ends[middle] ?? 0] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    from[at] = low === 0 ? undefined : ends[low - 1];
    ends[low] = at;
  }
  const kept = new Set<number>();
  for (let at = ends.at(-1); at !== undefined; at = from[at]) kept.add(at);
  return kept;
}

function changeOf(
  op: Change["op"],
  old: PlannedState | undefined,
  now: PlannedState | undefined,
  moved?: { before: string; after: string },
): Change {
  const { function: called = "", id = "", name = "" } = now ?? old ?? {};
  return {
    ...{ op, function: called, id, name },
    ...(old && { before: shown(old, moved?.before) }),
    ...(now && { after: shown(now, moved?.after) }),
  };
}

/** What a state says, without what it leaves as it usually is. */
function shown(state: PlannedState, position: string | undefined): Shown {
  const { args, requisites, contents, retry, event, aggregate } = state;
  const kinds = new Map<string, string[]>();
  for (const { kind, label } of requisites) kinds.set(kind, [...(kinds.get(kind) ?? []), label]);
  const fields: [string, unknown, boolean][] = [
    ...[...kinds].map(([kind, labels]): [string, unknown, boolean] => [kind, labels, true]),
    ...(["unless", "onlyif", "checks", "creates"] as const).map((name): [string, unknown, boolean] => [
      name === "checks" ? "check_cmd" : name,
      state[name],
      state[name].length > 0,
    ]),
    ...(["failhard", "parallel"] as const).map((name): [string, unknown, boolean] => [
      name,
      state[name],
      state[name],
    ]),
    ["aggregate", aggregate, aggregate !== undefined],
    ["retry", retry, retry !== undefined],
    ["fire_event", event, event !== undefined],
    ["order", position, position !== undefined],
    ...Object.entries(contents).map(([argument, digest]): [string, unknown, boolean] => [
      argument === "source" ? "content" : `content of ${argument}`,
      `sha256 ${digest.slice(0, 12)}`,
      true,
    ]),
  ];
  const more = fields.flatMap(([name, value, isThere]) => (isThere ? [[name, value as Plain] as const] : []));
  return { name: state.name, ...args, ...Object.fromEntries(more) };
}
