import { matchGlob } from "../../tree/targets/mod.ts";
import type { SaltState } from "./compare-low.ts";

const requisites = [
  ...["require", "require_any", "watch", "watch_any", "prereq", "prerequired"],
  ...["onfail", "onfail_any", "onfail_all", "onchanges", "onchanges_any"],
];

/**
 * The order in which Salt runs its low states: by their number, and before each what its requisites name.
 *
 * @param low as `state.show_lowstate` lists them, sorted by their number
 */
export function saltOrder(low: readonly SaltState[]): SaltState[] {
  const placed = new Set<SaltState>();
  const entered = new Set<SaltState>();
  const place = (state: SaltState): void => {
    // A state that waits for itself is placed by the one that came first.
    if (entered.has(state)) return;
    entered.add(state);
    for (const needed of neededBy(state, low)) place(needed);
    placed.add(state);
  };
  for (const state of low) place(state);
  return [...placed];
}

function neededBy(state: SaltState, low: readonly SaltState[]): SaltState[] {
  return requisites.flatMap((kind) => {
    const written = state[kind];
    return (Array.isArray(written) ? written : []).flatMap((each) => named(each, low));
  });
}

function named(requisite: unknown, low: readonly SaltState[]): readonly SaltState[] {
  const [[module, reference] = ["", ""]] =
    typeof requisite === "string" ? [["id", requisite]] : Object.entries((requisite ?? {}) as object);
  if (typeof reference !== "string") return [];
  const is = (value: unknown) => value === reference || matchGlob(reference, String(value));
  if (module === "sls") {
    return low.filter(({ __sls__: sls, __sls_included_from__: from }) => {
      return is(sls) || (Array.isArray(from) && from.includes(reference));
    });
  }
  return low.filter(
    ({ state, name, __id__: id }) => (module === "id" || state === module) && (is(name) || is(id)),
  );
}
