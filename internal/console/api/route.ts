import type * as v from "valibot";

/** A route of the REST interface, with the types of the operation behind it. */
export interface Route<Input, Answer> {
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
export function routesOf<Table>(doors: Readonly<Record<keyof Table, object>>): RoutesOf<Table> {
  const lines = Object.entries<{ rest?: Lines }>(doors).flatMap(([name, { rest }]) =>
    rest === undefined ? [] : [[name, { method: rest.method, path: rest.path }]],
  );
  return Object.fromEntries(lines) as RoutesOf<Table>;
}
