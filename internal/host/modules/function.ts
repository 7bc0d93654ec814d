import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { FactStore } from "../facts/store.ts";
import type { SettingsStore } from "./settings-store.ts";
import type { CallProgress, StatesService } from "./states-service.ts";
import type { UpgradeService } from "./upgrade-service.ts";

/**
 * What an argument may be. A `duration` is text such as `90s`, a `path` an absolute one, a `mode` octal
 * digits as text such as `0644`; `any` is plain data of any shape.
 */
export type ArgType =
  | "string"
  | "integer"
  | "number"
  | "boolean"
  | "duration"
  | "path"
  | "mode"
  | "strings"
  | "map"
  | "any";

export interface ArgSpec {
  type: ArgType;
  required?: true;
  /** The only values a string may have. */
  values?: readonly string[];
  /** Least value of an integer or number. */
  min?: number;
  /** Greatest value of an integer or number. */
  max?: number;
  /** One line for people, with the default when there is one. */
  doc: string;
}

/** Arguments by name, checked against the function's table. */
export type CallArgs = Readonly<Record<string, Plain>>;

/** What a function finds around it while it runs. */
export interface CallContext {
  clock: Clock;
  /** What is known of the host. */
  facts: FactStore;
  /** What the masters say this host is to be like. */
  settings: SettingsStore;
  /**
   * Aborts when the job is cancelled or its time is over. The function ends soon after, and whatever it
   * started ends with it.
   */
  signal: AbortSignal;
  /** Runs states; absent where none can be run. */
  states?: StatesService;
  /** Changes the peel over to another executable; absent where no peel runs. */
  upgrade?: UpgradeService;
  /** Keeps an event for the reactor until the bus has it; absent where no peel runs. */
  sendEvent?(tag: string, data: { readonly [key: string]: Plain }): { onDisk: boolean };
  /** What is returned stays on this host: it may be as large as it is. */
  unbounded?: true;
  /** Tells whoever waits for the call how far it is; absent when nobody does. Calling it costs next to nothing. */
  progress?(progress: CallProgress): void;
}

/** A function a peel can run. Failures are thrown: a `SvcError`, or a `FunctionFailure` with a value. */
export interface ModuleFunction {
  /** `module.function`. */
  name: string;
  /** Other names it goes by. */
  aliases?: readonly string[];
  /** One sentence for people. */
  doc: string;
  /** Arguments in the order of the command line. */
  args: Readonly<Record<string, ArgSpec>>;
  /** The map argument that words `key=value` of a command line go into when no argument has that name. */
  openArgs?: string;
  /** Changes nothing: it does not wait behind others, and running it twice does no harm. */
  readOnly?: true;
  /** What is wrong with arguments that are fine one by one: `give either command or argv`. */
  refuse?(args: CallArgs): string | undefined;
  run(args: CallArgs, context: CallContext): Promise<Plain> | Plain;
}

/** A failure that still has something to show, such as the output of a command that exited with 1. */
export class FunctionFailure extends SvcError {
  readonly value: Plain;
  /** Never 0. */
  readonly retcode: number;

  constructor(message: string, value: Plain, retcode: number) {
    super("bad_request", message);
    this.value = value;
    this.retcode = retcode;
  }
}
