import type * as v from "valibot";

/** A route of the REST interface, with the types of the operation behind it. */
export interface Route<Input, Answer> {
  /** Name of the operation whose types it has. */
  operation: string;
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** With `:name` for the field of that name; a test compares it with what masters serve. */
  path: string;
  /** Never there: it keeps the types. */
  types?: { input: Input; answer: Answer };
}

/** The parts of an operation that a caller sees. */
interface Described {
  input: v.GenericSchema;
  output: v.GenericSchema;
}
type InputOf<O extends Described> = v.InferInput<O["input"]>;
type OutputOf<O extends Described> = v.InferOutput<O["output"]>;

/** REST adds to each object with an encoded peel id the same with dots. */
type Named<T> = T extends readonly (infer Item)[]
  ? Named<Item>[]
  : T extends { peel_id: string; peel?: string }
    ? T & { peel: string }
    : T extends { peel_id: string }
      ? T & { peel: string }
      : T;

type Bound = Pick<Route<unknown, unknown>, "operation" | "method" | "path">;

/** A route that answers with all fields of its operation. */
export const whole = <O extends Described>(route: Bound): Route<InputOf<O>, Named<OutputOf<O>>> => route;

/** A route that answers with one field of the answer of its operation: an object, or the items of a page. */
export const field = <O extends Described, Field extends keyof OutputOf<O>>(
  route: Bound,
): Route<InputOf<O>, Named<OutputOf<O>[Field]>> => route;
