import type * as v from "valibot";
import type { ErrorKind, SvcError } from "../../../base/errors.ts";
import type { FieldsSchema, InputSchema, Kind, ScopeName } from "../mod.ts";

// The table of a room: by which doors each of its operations is reached. It is data alone, so that code which needs only the
// lines of a door, such as the console, loads no operation.

/** Groups of operations in the description of the REST interface. */
export type Tag =
  | "Enrollment"
  | "Enrollments"
  | "Peels"
  | "States"
  | "Jobs"
  | "Rollouts"
  | "Events"
  | "Masters"
  | "Reactor"
  | "Approvals"
  | "Tokens"
  | "Sessions"
  | "Join tokens"
  | "Operators"
  | "Roles"
  | "Cluster"
  | "Audit"
  | "Documentation";

/** Who may call a route. */
export type AuthRule =
  /** TLS only. */
  | "none"
  /** A signature by the enrolled key, checked by the core function against the record. */
  | "nkey"
  /** An operator's bearer token. */
  | "bearer";

/**
 * A step of a join: a challenge, which may name a token; further evidence and the submission, whose bodies name the
 * challenge; and what follows, with the id of the enrollment in the path.
 */
export type JoinStep = "challenge" | "evidence" | "submit" | "state" | "stream" | "credentials";

/**
 * How an operation is reached over REST: the fields of its input are in the path, in the query or in the body. The
 * name of the operation in the description is its key in the table.
 */
export interface RestLines<Field extends string = string> {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** With `:name` for the field with that name. */
  path: string;
  tag: Tag;
  /** A bearer token, unless this says otherwise. */
  auth?: AuthRule;
  /** The budget of the source of a request: relaxed, unless this says otherwise. */
  budget?: "strict" | "relaxed" | "sign-in" | "none";
  /** The request is a step of a join, which a join token may pay for in place of its source. */
  join?: JoinStep;
  /** A JSON body is required. Otherwise that of a POST is optional, and other methods have none. */
  body?: "required";
  /** The body is bytes of one of these media types, and the value of a field; the other fields are in the query. */
  raw?: RawBody;
  /** The largest body, where it is not the usual one. */
  maxBodyBytes?: number;
  /** The name of the body where it is a part of the input. */
  bodyTitle?: string;
  /** The field of the answer that is the body of the response, or the fields in it; absent means all. */
  show?: Field | readonly Field[];
  /** The field of the answer with the list, whose next page is named in a Link header. */
  page?: Field;
  /** Makes the answer a stream of server-sent events. */
  stream?: {
    maxDurationMs: number;
    /** The field that says where a stream continues: a client that was cut off names it in `Last-Event-ID`. */
    resumes?: string;
  };
  /** The stream of this room that answers in its place those who accept server-sent events. */
  orStream?: string;
  /** The status where this field of the answer is set; otherwise it is the lowest of `answers`. */
  statusWith?: { field: Field; status: number };
  /** Bytes of items that an answer may have, where it is not the usual number. */
  answerBytes?: number;
  /** Only pages of the console may send it: another site cannot sign a browser in under a name of its own. */
  ownPages?: true;
  /**
   * The meaning of each status, the usual one first. Statuses that follow from the rules of a route are
   * added.
   */
  answers: Readonly<Record<number, string>>;
  /** Answers 503 while the master has not read everything that is stored. */
  readsAll?: true;
  /** Headers that a request may have, and those of a response, with their meaning. */
  requestHeaders?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
}

/** A body that is not JSON. */
export interface RawBody {
  field: string;
  types: readonly string[];
  maxBytes: number;
  /** How long it may take to arrive. */
  readMs: number;
}

/** The queue groups in which masters serve operators. */
export type Queue = "svc-masters-admin" | "svc.masters" | "svc-target-resolvers";

/** How an operation is reached over the bus. */
export interface BusLines<Field extends string = string> {
  /** With `*` for the token that is the field `token`, and `{master}` for the name of the master that serves it. */
  subject: string;
  token?: string;
  /** That of requests to administer the fleet, unless this says otherwise. */
  queue?: Queue;
  /** The fields of the answer in the reply; absent means all of them. */
  reply?: readonly Field[];
  /** The page of a list: its default and its maximum length. */
  page?: { usual: number; max: number };
  /** Fields that have no meaning here, and are accepted. */
  ignored?: readonly string[];
  /** The request needs no `operator`, and only failures are logged. */
  bulk?: true;
  /** Scopes that may send it besides its own, because what they start begins with it. */
  also?: readonly ScopeName[];
}

/** What can be done about a refusal, in the words of a door. */
export type Hints = Partial<Readonly<Record<ErrorKind, Hint>>>;
/** What to do; with `about` only for refusals that say this. */
export type Hint = string | { readonly about: string; readonly say: string };

/** What the hints of an operation say of a refusal. */
export function hintFor(hints: Hints, { kind, message }: SvcError): string | undefined {
  const hint = hints[kind];
  if (hint === undefined || typeof hint === "string") return hint;
  return message.includes(hint.about) ? hint.say : undefined;
}

/** The doors of one operation. @template Field the fields of its answer */
export interface Door<Field extends string = string> {
  rest?: RestLines<Field>;
  bus?: BusLines<Field>;
  hints?: { svc?: Hints; rest?: Hints };
}

/** What the tables need to know of an operation. */
interface Reached {
  name: string;
  kind: Kind;
  input: InputSchema;
  output: v.GenericSchema;
  touches(...given: never[]): unknown;
  run(...given: never[]): Promise<unknown>;
}

type FieldOf<Of extends Reached> = Of["output"] extends FieldsSchema
  ? string & keyof v.InferOutput<Of["output"]>
  : never;

/**
 * The table of a room: each operation that it exports has an entry under the same name, or it does not compile.
 *
 * @template Room the module with the operations of the room
 */
export type Doors<Room> = {
  readonly [Name in keyof Room as Room[Name] extends Reached ? Name : never]: Room[Name] extends Reached
    ? Door<FieldOf<Room[Name]>>
    : never;
};

/** The operations of a room, each with its doors. */
export type Joined<Room, Table> = {
  readonly [Name in keyof Table & keyof Room & string]: {
    id: Name;
    operation: Room[Name];
  } & Table[Name];
};

/** Puts the operations of a room and its table together. */
export function joinDoors<Room extends object, const Table extends Doors<Room>>(
  room: Room,
  table: Table,
): Joined<Room, Table> {
  const operations = room as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(table).map(([id, door]) => [id, { id, operation: operations[id], ...(door as Door) }]),
  ) as unknown as Joined<Room, Table>;
}

/** What all operations of a room need. @template Table the operations, each with its doors */
export type DepsOf<Table> = {
  [Name in keyof Table]: Table[Name] extends {
    operation: { run(deps: infer Deps, ...rest: never[]): unknown };
  }
    ? (deps: Deps) => void
    : never;
}[keyof Table] extends (deps: infer All) => void
  ? All
  : never;
