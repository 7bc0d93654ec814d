import type * as v from "valibot";

/** A route of the REST interface, with the types of the operation behind it. */
export interface Route<Input, Answer> {
  /** Name of the operation whose types it has. */
  operation?: string;
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

/** An operation with its doors, as its room joins them. */
interface Joined {
  operation: Described;
  rest?: Lines;
}
type Lines = Pick<Route<unknown, unknown>, "method" | "path">;

/** What a route answers with: the field that it shows or pages, or all of them. */
type AnswerOf<One extends Joined> = One["rest"] extends { show: keyof OutputOf<One["operation"]> }
  ? OutputOf<One["operation"]>[One["rest"]["show"]]
  : One["rest"] extends { page: keyof OutputOf<One["operation"]> }
    ? OutputOf<One["operation"]>[One["rest"]["page"]]
    : OutputOf<One["operation"]>;

type RoutesOf<Table> = {
  [Name in keyof Table as Table[Name] extends { rest: Lines } ? Name : never]: Table[Name] extends Joined
    ? Route<InputOf<Table[Name]["operation"]>, Named<AnswerOf<Table[Name]>>>
    : never;
};

/** The routes of a room, from its table. @template Table the operations of the room, each with its doors */
export function routesOf<Table>(
  doors: { readonly [Name in keyof Table]: { rest?: Lines } },
): RoutesOf<Table> {
  const lines = Object.entries<{ rest?: Lines }>(doors).flatMap(([name, { rest }]) =>
    rest === undefined ? [] : [[name, { method: rest.method, path: rest.path }]],
  );
  return Object.fromEntries(lines) as RoutesOf<Table>;
}
