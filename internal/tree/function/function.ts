import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { ArgSpec, CallArgs, CallContext } from "../../host/modules/mod.ts";
import type { FileSource } from "../files/mod.ts";
import type { Compat } from "../template/mod.ts";

/**
 * The changes of a state, by name: `{"/etc/motd": {diff: "…"}}`. Empty when the host is already in the
 * desired state.
 */
export type Changes = { [name: string]: Plain };

/** What a state function found, and what it would change. */
export interface Plan {
  /** The predicted changes. */
  changes: Changes;
  /** One sentence for people that says what would be done: `The file /etc/motd would be updated`. */
  comment: string;
  /**
   * Brings the host into the desired state; absent when nothing has to change. The returned values replace
   * the prediction.
   *
   * @throws StateFailure when it fails, with the changes made so far
   */
  apply?(): Promise<{ changes?: Changes; comment?: string } | undefined>;
  /**
   * Tells what would change where only a command of the state knows, which its author provides for test runs and
   * which changes nothing. Called by test runs alone. The returned values replace the prediction.
   *
   * @throws StateFailure when the command fails
   */
  rehearse?(): Promise<{ changes: Changes; comment: string }>;
}

/** The environment of a state function. */
export interface StateContext extends CallContext {
  /** Every state of the run. States that remove unmanaged files keep the paths of these. */
  described: readonly { function: string; name: string }[];
  /** How close to Salt the tree is read. */
  compat: Compat;
  /** The files of the environment, for `svc://` and `salt://`. */
  files: FileSource;
  /** Renders a template with facts, settings and the given variables. @throws StateFailure with the place */
  render(
    template: { name: string; text: string },
    variables: Readonly<Record<string, Plain>>,
  ): Promise<string>;
  /** Runs an execution function of the peel, such as `pkg.version`. */
  call(name: string, args: CallArgs): Promise<Plain>;
  /**
   * Variables that `environ.setenv` added to the commands of this run. They never reach the environment of the
   * peel.
   */
  environment: Map<string, string>;
  /**
   * A cache of observations of the host during a run, by name of their owner. The engine clears it after
   * every applied state, because any state may change the host.
   */
  cache: Map<string, unknown>;
}

/**
 * A state function. It only inspects the host and returns a plan; the engine decides whether to apply it. So
 * `test: true` cannot change anything, and shows exactly what a run would do.
 */
export interface StateFunction {
  /** `file.managed` */
  name: string;
  doc: string;
  /**
   * Arguments of this function, in order of use, without the common ones (`name`, requisites, `unless`, …).
   */
  args: Readonly<Record<string, ArgSpec>>;
  /** Whether an object may have the empty name, such as the anonymous user of a server. */
  emptyName?: true;
  /** What any argument is that is not in the table; absent where the table has all. */
  openArgs?: ArgSpec;
  /**
   * The same in trees of Salt alone, where an argument that is in neither table is otherwise ignored with a warning.
   */
  saltArgs?: ArgSpec;
  /** Without an argument it would do more than requested, so one that it does not have is an error everywhere. */
  needsAll?: true;
  /** Returns a problem with the combination of arguments that are each valid. */
  refuse?(args: CallArgs): string | undefined;
  /** Returns what the arguments say that is accepted and better written another way. */
  warn?(args: CallArgs, name: string): string | undefined;
  /**
   * @param name the object of the state: `name`, or else the id of its declaration
   * @throws StateFailure when the desired state cannot be reached
   */
  plan(name: string, args: CallArgs, context: StateContext): Promise<Plan> | Plan;
  /** For states whose work one change of the host can do together: `aggregate`. */
  together?: {
    /** The objects that a state manages, as `changes` names them. */
    objects(name: string, args: CallArgs): readonly string[];
    /** The arguments of one state that does the work of all; nothing where they do not go together. */
    args(states: readonly { name: string; args: CallArgs }[]): CallArgs | undefined;
  };
  /** Plans what to do in addition when a watched state has changed, such as a restart. */
  onWatch?(name: string, args: CallArgs, context: StateContext): Promise<Plan> | Plan;
}

/** The failure of a state, with the changes it made before. */
export class StateFailure extends SvcError {
  readonly changes: Changes;

  constructor(message: string, changes: Changes = {}, options?: { cause?: unknown }) {
    super("bad_request", message, options);
    this.changes = changes;
  }
}
