import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { ArgSpec, CallArgs, CallContext } from "../../host/modules/function.ts";
import type { FileSource } from "../files/files.ts";

/** What a state changes, by name: `{"/etc/motd": {diff: "…"}}`. Empty when everything is as described. */
export type Changes = { [name: string]: Plain };

/** What a state function found, and what it would do about it. */
export interface Plan {
  /** What differs now, and so would change. */
  changes: Changes;
  /** One sentence for people, in the words of what would be done: `The file /etc/motd is to be updated`. */
  comment: string;
  /**
   * Brings the host into the described state; absent when it is there already. What it returns replaces
   * the prediction.
   *
   * @throws StateFailure when it cannot; what was changed until then is in it
   */
  apply?(): Promise<{ changes?: Changes; comment?: string } | undefined>;
}

/** What a state function finds around it. */
export interface StateContext extends CallContext {
  /** Every state of the run: what removes what nobody describes leaves these alone. */
  described: readonly { function: string; name: string }[];
  /** The files of the environment, for `svc://` and `salt://`. */
  files: FileSource;
  /** Renders a template with facts, settings and these variables. @throws StateFailure with the place */
  render(
    template: { name: string; text: string },
    variables: Readonly<Record<string, Plain>>,
  ): Promise<string>;
  /** Runs an execution function of the peel, such as `pkg.version`. */
  call(name: string, args: CallArgs): Promise<Plain>;
  /**
   * What was found out about the host in this run, by the name of who keeps it. The engine empties it after
   * every state that was applied, since any state may change anything.
   */
  cache: Map<string, unknown>;
}

/**
 * A state function. It only looks, and says what it would do: the engine decides whether that is done, so
 * that `test: true` cannot change anything, and shows exactly what a run would do.
 */
export interface StateFunction {
  /** `file.managed` */
  name: string;
  doc: string;
  /** Arguments beside those that every state has (`name`, requisites, `unless`, …), in the order of use. */
  args: Readonly<Record<string, ArgSpec>>;
  /** What is wrong with arguments that are fine one by one. */
  refuse?(args: CallArgs): string | undefined;
  /**
   * @param name what the state is about: `name`, or else the id of its declaration
   * @throws StateFailure when the host cannot be brought there
   */
  plan(name: string, args: CallArgs, context: StateContext): Promise<Plan> | Plan;
  /** What is to be done in addition when a state that this one watches has changed: a restart. */
  onWatch?(name: string, args: CallArgs, context: StateContext): Promise<Plan> | Plan;
}

/** A state that failed, with what it had changed until then. */
export class StateFailure extends SvcError {
  readonly changes: Changes;

  constructor(message: string, changes: Changes = {}, options?: { cause?: unknown }) {
    super("bad_request", message, options);
    this.changes = changes;
  }
}
