import { sha256Hex } from "../../base/sha256.ts";
import type { LowState } from "../function/mod.ts";
import type { Contents } from "./contents.ts";
import { digestedState, type Order, type PlannedState } from "./order.ts";

/** Gives equal states the same object: of many kinds of peels, nearly all states are equal. */
export interface Interning {
  /** @param contents of each state */
  take(states: readonly LowState[], contents: readonly Contents[]): Pick<Order, "states" | "targets">;
}

export function createInterning(): Interning {
  const states = new Map<string, PlannedState>();
  const targets = new Map<string, readonly (readonly number[])[]>();
  const targetsOf = ({ requisites }: LowState) => {
    const found = requisites.map((each) => each.targets);
    const text = JSON.stringify(found);
    const known = targets.get(text) ?? found;
    targets.set(text, known);
    return known;
  };
  const stateOf = (state: LowState, contents: Contents): PlannedState => {
    const { order: _, requisites, ...rest } = state;
    const labels = requisites.map(({ kind, label }) => [kind, label]);
    const written = [digestedState(state, []), labels, contents];
    const key = sha256Hex(Buffer.from(JSON.stringify(written, bytesAsText)));
    const place = `${key} ${state.file}:${state.line}`;
    const known = states.get(place) ?? {
      ...{ ...rest, key, contents },
      requisites: requisites.map(({ targets: __, ...each }) => each),
    };
    states.set(place, known);
    return known;
  };
  return {
    take: (ordered, contents) => ({
      states: ordered.map((state, at) => stateOf(state, contents[at] ?? {})),
      targets: ordered.map(targetsOf),
    }),
  };
}

const bytesAsText = (_: string, value: unknown): unknown =>
  value instanceof Uint8Array ? { bytes: Buffer.from(value).toString("base64") } : value;
