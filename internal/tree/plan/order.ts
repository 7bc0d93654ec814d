import { encodeSorted, type Plain } from "../../base/msgpack.ts";
import type { LowState, RequisiteKind, StateProblem } from "../function/mod.ts";
import type { Question } from "./question.ts";
import type { Reads } from "./watch.ts";

/** One ordered state, without its position: the same object for every peel that gets it. */
export interface PlannedState extends Omit<LowState, "order" | "requisites"> {
  /** Everything that decides how it runs, but not where it is written. */
  readonly key: string;
  readonly requisites: readonly { kind: RequisiteKind; label: string; isMissing?: true }[];
  /** Digests of the content that the state takes from the tree, by argument. */
  readonly contents: Readonly<Record<string, string>>;
}

/** What one rendered file rests on. */
export interface FileUse {
  /** Digests of the files that were read to render it, by path; `undefined` for those that do not exist. */
  readonly loads: ReadonlyMap<string, string | undefined>;
  readonly questions: readonly Question[];
}

/** What would be ordered for a peel. */
export interface Order {
  /** Empty where there are problems, or something is unknown. */
  readonly states: readonly PlannedState[];
  /** `order` of the states that the requisites of each state lead to. */
  readonly targets: readonly (readonly (readonly number[])[])[];
  readonly problems: readonly StateProblem[];
  /** What keeps it from being known before it runs, sorted. */
  readonly unknown: readonly string[];
  /** In the order in which templates wanted to know it. */
  readonly questions: readonly Question[];
  readonly reads: Reads;
  /** By path of the rendered file. */
  readonly files: ReadonlyMap<string, FileUse>;
}

/** Whether a peel gets what is shown, whatever happens before it runs. */
export const isKnown = ({ problems, unknown }: Pick<Order, "problems" | "unknown">): boolean =>
  problems.length + unknown.length === 0;

/** A state as it is digested; its line and its file only say where it is written. */
export function digestedState(
  { id, function: called, name, args, requisites, ...common }: Omit<LowState, "order">,
  targets: readonly (readonly number[])[],
): Plain {
  const { unless, onlyif, failhard, parallel, aggregate, retry, checks, creates, event } = common;
  const plain = {
    ...{ id, function: called, name, args, unless, onlyif, failhard, parallel, checks, creates },
    ...(aggregate === undefined ? {} : { aggregate }),
    ...(retry === undefined ? {} : { retry: { ...retry } }),
    ...(event === undefined ? {} : { event }),
    requisites: requisites.map(({ kind, isMissing }, at) => ({
      ...{ kind, targets: targets[at] ?? [] },
      ...(isMissing === undefined ? {} : { missing: true }),
    })),
  };
  return plain as unknown as Plain;
}

/** The bytes of ordered states: those of equal orders are equal, wherever they were compiled. */
export function bytesOfStates(states: readonly LowState[]): Uint8Array {
  return encodeSorted(
    states.map((state) =>
      digestedState(
        state,
        state.requisites.map(({ targets }) => targets),
      ),
    ),
  );
}

/** The same of an order that is known. */
export function bytesOf({ states, targets }: Pick<Order, "states" | "targets">): Uint8Array {
  return encodeSorted(
    states.map((state, at) =>
      digestedState(
        { ...state, requisites: state.requisites.map((each) => ({ ...each, targets: [] })) },
        targets[at] ?? [],
      ),
    ),
  );
}
