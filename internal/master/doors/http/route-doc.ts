import type { JsonSchema } from "./json-schema.ts";

/** Groups of operations, in the order they are shown in. */
export const tags = {
  Enrollment: "How a peel without credentials gets them",
  Enrollments: "How operators decide on enrollments",
  Jobs: "Run functions on peels and see what came of it",
  Rollouts: "Run a function on one wave of peels after the other, for as long as it goes well",
  Documentation: "This description",
} as const;

/** What a client must know of a route; what follows from its rules, such as 401 and 429, is added to it. */
export interface RouteDoc {
  tag: keyof typeof tags;
  /** Name of the operation in generated clients: `listJobs`. */
  id: string;
  summary: string;
  description?: string;
  /** Of the path, by the `:name` in it, else of the query. */
  parameters?: Readonly<Record<string, ParameterDoc>>;
  /** The JSON body. */
  request?: JsonSchema;
  /** By status. */
  responses: Readonly<Record<number, ResponseDoc>>;
}

interface ParameterDoc {
  description: string;
  schema?: JsonSchema;
  /** Of a path they all are. */
  required?: boolean;
  in?: "header";
}

interface ResponseDoc {
  description: string;
  /** The JSON body; absent means none, and on a status from 400 the error object. */
  schema?: JsonSchema;
  /** Media type of a body that is no JSON. */
  type?: string;
  headers?: Readonly<Record<string, string>>;
}
