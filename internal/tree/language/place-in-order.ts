import { defined } from "../../base/defined.ts";
import { atLine } from "../../base/place.ts";
import type { LowState, Place, Problems, Requisite } from "../function/mod.ts";
import type { Compat } from "../template/mod.ts";
import type { ReadState } from "./arguments.ts";
import { Cycle, orderStates } from "./order.ts";

/** A state that is not ordered yet. */
export type Unplaced = Omit<ReadState, "requisites"> &
  Place & {
    id: string;
    sls: string;
    function: string;
    isLate?: boolean;
    /** Targets are indexes into the states. */
    requisites: readonly Requisite[];
  };

/**
 * Puts states in execution order.
 *
 * @param compat as of `orderStates`
 * @throws StateErrors when requisites form a cycle
 */
export function placeInOrder(states: readonly Unplaced[], problems: Problems, compat?: Compat): LowState[] {
  const indexes = placesOf(states, problems, compat);
  const orderOf = new Map(indexes.map((index, order) => [index, order]));
  return indexes.flatMap((index, order): LowState[] => {
    const state = states[index];
    if (state === undefined) return [];
    const { sortBy: _, isLate: __, retry, event, requisites, ...rest } = state;
    const placed = requisites.map((requisite) => ({
      ...requisite,
      targets: requisite.targets.map((target) => orderOf.get(target) ?? target),
    }));
    return [{ ...rest, order, requisites: placed, ...defined({ retry, event }) }];
  });
}

function placesOf(states: readonly Unplaced[], problems: Problems, compat?: Compat): number[] {
  try {
    return orderStates(states, compat);
  } catch (thrown) {
    if (!(thrown instanceof Cycle)) throw thrown;
    const path = thrown.path.flatMap((index) => states[index] ?? []);
    const steps = path.map(({ id, function: name, file, line }) => `${id} (${name}, ${atLine(file, line)})`);
    const [first] = path;
    problems.add(`requisites form a cycle: ${steps.join(" needs ")}`, {
      ...(first === undefined ? {} : { file: first.file, line: first.line }),
    });
    throw problems.errors();
  }
}
