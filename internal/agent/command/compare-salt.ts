import { resolve } from "node:path";
import { beginningOf } from "../../base/cut.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { CallContext } from "../../host/modules/mod.ts";
import { type Cli, Exit, formatTable } from "../../program/command-line/mod.ts";
import { compareLow, type LowDifference, type NamedState, type OwnState } from "./compare-low.ts";
import { saltLowState } from "./salt-call.ts";
import { saltOrder } from "./salt-order.ts";

/** What to compare. */
export interface Comparison {
  /** Names of states; the highstate without any. */
  mods: readonly string[];
  states?: string;
  settings?: string;
  /** Encoded peel id, when it was given. */
  id?: string;
}

/**
 * What a call with `--compare-salt` names: nothing or `state.highstate`, or `state.apply` with names.
 *
 * @throws SvcError `usage`
 */
export function comparedStates(called: string | undefined, words: readonly string[]): string[] {
  const isHighstate = called === undefined || called === "state.highstate";
  if ((isHighstate && words.length === 0) || called === "state.apply" || called === "state.sls") {
    if (words.every((word) => !word.includes("="))) return words.flatMap((word) => word.split(","));
  }
  throw new SvcError("usage", "--compare-salt is for state.highstate, and state.apply with names of states");
}

/**
 * Compiles the states with Salt and here, and prints the difference. Nothing is applied.
 *
 * @throws Exit 1 when they differ
 */
export async function compareWithSalt(
  { mods, states, settings, id }: Comparison,
  context: CallContext,
  cli: Cli,
): Promise<void> {
  const { states: service, signal } = context;
  if (service === undefined) throw new SvcError("internal", "internal error");
  const { commonNames } = await import("../../tree/language/mod.ts");
  const own = await service.show("states", mods.length === 0 ? {} : { mods: [...mods] }, context);
  const salt = await saltLowState({
    mods,
    ...defined({ states: states && resolve(states), settings: settings && resolve(settings) }),
    ...(id === undefined ? {} : { id: displayPeelId(id) }),
    env: cli.env,
    clock: cli.clock,
    signal,
  });
  const difference = compareLow(
    saltOrder(salt),
    Array.isArray(own) ? (own as unknown[] as OwnState[]) : [],
    commonNames,
  );
  await cli.print(difference, () => textOf(difference, cli));
  if (!difference.same) throw new Exit(1);
}

function textOf(
  { states, only_salt, only_here, order, arguments: args, same }: LowDifference,
  cli: Cli,
): string {
  if (same)
    return `${states} ${states === 1 ? "state" : "states"}: Salt and svc run the same, in the same order`;
  const rows = [
    ...only_salt.map((state) => [...cells(state), "only Salt runs it", ""]),
    ...only_here.map((state) => [...cells(state), "only svc runs it", ""]),
    ...(order === undefined
      ? []
      : [
          [
            ...cells(order.salt),
            `Salt runs it as number ${order.position}`,
            `here it is ${cells(order.here).join(" ")}`,
          ],
        ]),
    ...args.map(({ state, argument, salt, here }) => [
      ...cells(state),
      `${argument}: ${shown(salt)} in Salt`,
      `${shown(here)} here`,
    ]),
  ];
  return [
    formatTable({ FUNCTION: "text", NAME: "prose", DIFFERENCE: "prose", "": "prose" }, rows, cli),
    `In both: ${states}; ${rows.length} ${rows.length === 1 ? "difference" : "differences"}`,
  ].join("\n");
}

function cells({ function: called, id, name }: NamedState): [string, string] {
  return [called, id === name ? id : `${name} (${id})`];
}

const shownCharacters = 60;

function shown(value: Plain): string {
  if (value === null) return "nothing";
  return beginningOf(JSON.stringify(value), shownCharacters);
}
