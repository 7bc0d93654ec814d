import type { Tag } from "../../fleet/operation/door-table/mod.ts";
import type { JsonSchema } from "./json-schema.ts";

/** Groups of operations, in display order. */
export const tags: Readonly<Record<Tag, string>> = {
  Enrollment: "How a peel without credentials gets credentials",
  Enrollments: "How operators decide on enrollments",
  Peels: "What the masters know of each peel",
  States: "Whether peels are as described, from their last state runs",
  Jobs: "Run functions on peels and read the results",
  Rollouts: "Run a function on one wave of peels after the other, as long as it succeeds",
  Events: "What happened in the fleet",
  Masters: "Which masters run, how each is, and what it does alone",
  Reactor: "Rules that react to events, and their circuit breakers",
  Approvals: "Requests that wait for other operators",
  Tokens: "Tokens of this interface",
  Sessions: "Sign in to and out of the console",
  "Join tokens": "Tokens that hosts join with",
  Operators: "Who may ask: persons and pipelines with keys of their own",
  Roles: "What an operator may do, and on which peels",
  Cluster: "The servers of the bus, and where they store what",
  Audit: "Decisions and the callers that requested them, in a chain that cannot be rewritten unseen",
  Documentation: "This description",
};

/**
 * What a client must know about a route; statuses that follow from its rules, such as 401 and 429, are added.
 */
export interface RouteDoc {
  tag: Tag;
  /** Name of the operation in generated clients: `listJobs`. */
  id: string;
  summary: string;
  description?: string;
  /** Parameters of the path, by their `:name`, and of the query. */
  parameters?: Readonly<Record<string, ParameterDoc>>;
  /** The JSON body. */
  request?: JsonSchema;
  /** A body that is not JSON. */
  upload?: { types: readonly string[]; description: string };
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
  /** Media type of a body that is not JSON. */
  type?: string;
  headers?: Readonly<Record<string, string>>;
}
