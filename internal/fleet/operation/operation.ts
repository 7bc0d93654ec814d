import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import type { Log, LogFields } from "../../base/log.ts";
import type { Span } from "../../base/trace.ts";
import type { Content } from "../../wire/content.ts";
import { type DottedScope, type Scope, scopeNamed } from "./scope.ts";

/** The kind of an operation: to read something, to decide on a request, or to change the fleet. */
export type Kind = "read" | "decide" | "change";

/** A person or a pipeline. */
export interface OperatorCaller {
  kind: "operator";
  name: string;
  door: "rest" | "bus" | "console" | "direct";
  /**
   * The roles that count for this request. Absent for callers that are not registered: they may do everything
   * as long as `operators.require_signed` is off.
   */
  roles?: readonly string[];
  /** Public key that signed the request. */
  key?: string;
  /**
   * The signed request as it arrived: the bytes of the envelope, and the subject it was signed for. Its nonce is
   * absent where a master starts what others agreed to.
   */
  signed?: { envelope: Uint8Array; subject: string; nonce?: Uint8Array };
  /** What a request over REST showed, or what a session of the console was signed in by; absent at the other doors. */
  bearer?: Bearer;
  /** The session of a request of the console. */
  session?: SessionOfCaller;
}

/** A session of the console, for requests about itself. */
export interface SessionOfCaller {
  /** `ses-…` */
  id: string;
  /** What each change needs in addition to the cookie. */
  csrf: string;
  /** SHA-256 of the cookie. */
  digest: Uint8Array;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
  expiresAt: number;
}

/** How a request over REST or from the console was authenticated. */
export type Bearer =
  /** A token that the configuration of the master names. */
  | { kind: "file" }
  /** A token of the bucket `tokens`; `creator` is the person who answers for it. */
  | { kind: "token"; id: string; creator: string }
  /** A token of an identity provider; `subject` identifies the person there, whatever their name. */
  | { kind: "oidc"; issuer: string; subject?: string }
  /** The key of a registered operator, which signed the request for a link to the console. */
  | { kind: "operator" };

/** The caller, and the door of the request. */
export type Caller =
  | OperatorCaller
  /** A peel without credentials; `proof` is what it signed to prove its key, and the operation checks it. */
  | { kind: "peel"; proof: string; door: "rest" }
  /** `address` is that of the other end of the connection; absent on the bus. */
  | { kind: "anonymous"; door: "rest" | "bus"; address?: string }
  | { kind: "reactor"; rule: string; door: "reactor" };

/** What other operators agreed to: a request that waited for them, and is started by a master. */
export interface Agreement {
  /** `apr-…` */
  approval: string;
  /** Who agreed. */
  by: readonly string[];
  /** What those who have a key signed to agree; peels may insist on seeing that. */
  signed?: readonly { operator: string; envelope: Uint8Array }[];
  /** When it was started first, milliseconds since the Unix epoch; the same after a crash. */
  startedAt: number;
  /** Encoded ids of the peels that they agreed to, if it starts something on peels. */
  peels?: readonly string[];
  /** The files that they agreed to, if it runs files of the tree. */
  content?: Content;
  /** Those for its peels that run released files alone, where they differ. */
  released?: Content;
  /** Whether these were not the newest files of their environment when it was requested. */
  isOlder?: boolean;
  /** Makes the id of what it starts: it is the same, whichever master does it, however often. */
  idFor(prefix: "job" | "rol"): string;
}

/** What an operation is about. */
export type Touch =
  | { fleet: true }
  | { enrollment: string }
  | { peel: string }
  | { peels: { expression: string } | { peels: readonly string[] } }
  | { job: string }
  | { rollout: string }
  | { rule: string }
  /** `version` is that of the signed record of the request. */
  | { operator: string; version?: number }
  | { approval: string }
  /** Its name, or the id of one that exists. */
  | { token: string }
  /** The id of one that hosts join with. */
  | { joinToken: string }
  | { binary: string }
  /** An environment of the state files. */
  | { environment: string };

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
  /** Of the request at its door; what is done for it is part of it. Absent where nothing is traced. */
  span?: Span;
  /** Judges and records each request of an operator or a rule; absent where the caller is the one who decides. */
  gate?: Gate;
  /**
   * Encoded ids: the peels that the gate let it run on. An operation that resolves a target runs on exactly these,
   * as peels may mean something else a moment later.
   */
  peels?: readonly string[];
  /**
   * Judges a change of labels again, right before it is stored: others may have changed the labels since the gate
   * judged it, and it would undo that without the right to.
   *
   * @param before the labels that are replaced
   * @throws SvcError `forbidden`, `conflict` when more must agree now
   */
  judgeLabels?(before: Readonly<Record<string, string>>): Promise<void>;
  /** The files of the tree that the gate let it run, whatever their environment has a moment later. */
  content?: Content;
  /** Those for its peels that run released files alone, where they differ. */
  released?: Content;
  /** Others agreed to this request; set by the master that starts it. */
  agreement?: Agreement;
  /** Bytes of items that one answer may have at this door; absent where there is no limit. */
  answerBytes?: number;
}

/** A request as a gate sees it: parsed, from a caller that the operation admits. */
export interface Passenger {
  operation: string;
  kind: Kind;
  scope: Scope;
  /** The parsed input. */
  input: unknown;
  touched: Touch;
  caller: Caller;
  requestId?: string;
  /** Others agreed to it. */
  agreement?: Agreement;
  /** Fixes the peels that its target means: the operation runs on these, which is `Call.peels`. */
  fix?(peels: readonly string[]): void;
  /** Gives the operation what judges its change of labels again, which is `Call.judgeLabels`. */
  fixLabels?(judge: NonNullable<Call["judgeLabels"]>): void;
  /**
   * Fixes the files of the tree that it means: the operation runs these, which are `Call.content` and `Call.released`.
   */
  settle?(files: { content: Content; released?: Content }): void;
}

/** How a request that passed ended. */
export type Ending = { outcome: "done"; output?: unknown } | { outcome: "failed"; error: unknown };

/**
 * What stands between a caller and every operation with a scope, whichever door it comes through: the roles, the
 * approvals of others, and the audit.
 */
export interface Gate {
  /**
   * Lets a request pass.
   *
   * @returns called exactly once, when the operation has ended
   * @throws SvcError `forbidden` naming the caller, what is missing and who can grant it; `unavailable` when the
   *   decision cannot be recorded
   */
  enter(passenger: Passenger): Promise<(ending: Ending) => Promise<void>>;
  /** Records a request whose sender nobody could establish. It does not fail. */
  refuse?(stranger: Stranger, thrown: unknown): Promise<void>;
}

/** A request that was refused before anything else was read of it. */
export interface Stranger {
  /** Name of the operation. */
  operation: string;
  /** The bus user that sent it, where the server names it. */
  user?: string | undefined;
  /** The operator and the key that it names, which prove nothing. */
  claimed: { operator?: unknown; key?: unknown };
  /** The request as it came. */
  bytes: Uint8Array;
  requestId: string;
}

/** A schema that knows its fields. */
export type FieldsSchema = v.GenericSchema & { readonly entries: v.ObjectEntries };
/** A schema that refuses unknown fields. */
export type InputSchema = FieldsSchema & { readonly type: "strict_object" };

/** What an operation says of itself. */
interface Declared<Deps, Input extends InputSchema, Output extends v.GenericSchema> {
  kind: Kind;
  /** One line in the imperative, without a full stop. */
  summary: string;
  /** Further details, for the description of the interface. */
  description?: string;
  /** Which callers it admits; absent for operators alone. */
  admits?: readonly Caller["kind"][];
  /** Absent for an operation without input. */
  input?: Input;
  /** The output of `run`. Readers ignore fields that they do not know. */
  output: Output;
  /** Absent for the fleet as a whole, which is what the fewest may touch. */
  touches?(input: v.InferOutput<Input>): Touch;
  /** @throws SvcError when it fails */
  run(deps: Deps, input: v.InferOutput<Input>, call: Call): Promise<v.InferOutput<Output>>;
}

/** One capability of a master, through whichever door it is requested. */
export interface Operation<Deps, Input extends InputSchema, Output extends v.GenericSchema>
  extends Required<Omit<Declared<Deps, Input, Output>, "description">>,
    Pick<Declared<Deps, Input, Output>, "description"> {
  /** `enrollments.approve` */
  name: `${string}.${string}`;
  /**
   * What an operator must be allowed; `public` exactly where operators are not admitted, and `self` for what
   * everyone may ask about themselves.
   */
  scope: Scope | "public" | "self";
}

/** The name of an operation, and its scope where that has another name. */
type Named =
  | { name: DottedScope; scope?: never }
  | { name: Operation<never, never, never>["name"]; scope: Operation<never, never, never>["scope"] };

const nothing = v.strictObject({});

/** Defines an operation. */
export function operation<Deps, Output extends v.GenericSchema, Input extends InputSchema = typeof nothing>(
  declared: Declared<Deps, Input, Output> & Named,
): Operation<Deps, Input, Output> {
  const { name, scope = scopeNamed(name) } = declared;
  const usual = { admits: ["operator"], input: nothing, touches: () => ({ fleet: true }) };
  return { ...usual, ...declared, scope } as unknown as Operation<Deps, Input, Output>;
}

/** Whether the answer goes to the caller alone: over the bus its servers see it. */
export function isOverHttps({ door }: Caller): boolean {
  return door === "rest" || door === "console";
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
