import type * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import type { Log, LogFields } from "../../base/log.ts";

/** The kind of an operation: to read something, to decide on a request, or to change the fleet. */
export type Kind = "read" | "decide" | "change";

/** The caller, and the door of the request. */
export type Caller =
  | { kind: "operator"; name: string; door: "rest" | "bus" | "direct" }
  /** A peel without credentials; `proof` is what it signed to prove its key, and the operation checks it. */
  | { kind: "peel"; proof: string; door: "rest" }
  | { kind: "anonymous"; door: "rest" | "bus" }
  | { kind: "reactor"; rule: string; door: "reactor" };

/** What an operation is about. */
export type Touch =
  | { fleet: true }
  | { enrollment: string }
  | { peel: string }
  | { peels: { expression: string } | { peels: readonly string[] } }
  | { job: string }
  | { rollout: string }
  | { rule: string }
  | { binary: string };

/** The context of one request. */
export interface Call {
  caller: Caller;
  /** Names the request in logs; absent for work without a request. */
  requestId?: string;
  /** Has the request id in every record. */
  log: Log;
  clock: Pick<Clock, "monotonic">;
  /** Adds fields to the record that the door writes when the request is complete. */
  note?(fields: LogFields): void;
}

/** A schema that knows its fields. */
export type FieldsSchema = v.GenericSchema & { readonly entries: v.ObjectEntries };
/** A schema that refuses unknown fields. */
export type InputSchema = FieldsSchema & { readonly type: "strict_object" };

/** One capability of a master, whichever door it is asked through. */
export interface Operation<Deps, Input extends InputSchema, Output extends v.GenericSchema> {
  /** `enrollments.approve` */
  name: `${string}.${string}`;
  kind: Kind;
  /** One line in the imperative, without a full stop. */
  summary: string;
  /** Further details, for the description of the interface. */
  description?: string;
  /** Which callers it admits. */
  admits: readonly Caller["kind"][];
  input: Input;
  /** The output of `run`. Readers ignore fields that they do not know. */
  output: Output;
  touches(input: v.InferOutput<Input>): Touch;
  /** @throws SvcError when it fails */
  run(deps: Deps, input: v.InferOutput<Input>, call: Call): Promise<v.InferOutput<Output>>;
}

/** Defines an operation. */
export function operation<Deps, Input extends InputSchema, Output extends v.GenericSchema>(
  defined: Operation<Deps, Input, Output>,
): Operation<Deps, Input, Output> {
  return defined;
}

/** The name that is recorded for a caller, if it has one. */
export function nameOfCaller(caller: Caller): string | undefined {
  if (caller.kind === "operator") return caller.name;
  return caller.kind === "reactor" ? `reactor:${caller.rule}` : undefined;
}

/** The name under which a decision or a change is logged: only callers with a name reach this point. */
export function operatorOf({ caller }: Call): string {
  return nameOfCaller(caller) ?? caller.kind;
}
