import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { FactStore } from "../facts/mod.ts";
import type { AuditWitness } from "./audit-witness.ts";
import type { IdentityService } from "./identity-service.ts";
import type { SettingsStore } from "./settings-store.ts";
import type { CallProgress, RunOrigin, StatesService } from "./states-service.ts";
import type { UpgradeService } from "./upgrade-service.ts";

/**
 * The type of an argument. A `duration` is a string such as `90s`, a `path` is absolute, a `mode` is a string
 * of octal digits such as `0644`; `any` is plain data of any shape.
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

/**
 * How an argument takes data that nobody has checked, such as the data of an event. `text` is content, which
 * no program reads as a command. A `name` is looked up, and never begins with `-`. `input` is the standard
 * input of a program, `variables` are those of its environment, and `words` are its arguments.
 */
export type DataUse = "text" | "name" | "input" | "variables" | "words";

export interface ArgSpec {
  type: ArgType;
  /** Declares the argument safe for data that nobody has checked. Without it, the argument takes none. */
  data?: DataUse;
  required?: true;
  /** The allowed values of a string. */
  values?: readonly string[];
  /** Minimum of an integer or number. */
  min?: number;
  /** Maximum of an integer or number. */
  max?: number;
  /** One line for people, with the default if there is one. */
  doc: string;
}

/** Arguments by name, validated against the table of the function. */
export type CallArgs = Readonly<Record<string, Plain>>;

/** The environment of a running function. */
export interface CallContext {
  clock: Clock;
  /** The facts of the host. */
  facts: FactStore;
  /** The settings of the host, compiled by the masters. */
  settings: SettingsStore;
  /**
   * Aborts when the job is cancelled or times out. The function then ends soon, together with everything it
   * started.
   */
  signal: AbortSignal;
  /** Runs states; absent where states cannot be run. */
  states?: StatesService;
  /** Replaces the executable of the peel; absent where no peel is running. */
  upgrade?: UpgradeService;
  /** The credentials and keys of the peel; absent where no peel is running. */
  identity?: IdentityService;
  /** What the peel remembers of the audit; absent where no peel is running. */
  audit?: AuditWitness;
  /** Queues an event for the reactor until the bus has stored it; absent where no peel is running. */
  sendEvent?(tag: string, data: { readonly [key: string]: Plain }): { onDisk: boolean };
  /** Whether the result stays on this host, so that its size is not limited. */
  unbounded?: true;
  /** Takes the value that the return hides, for the operator who may see it; absent when nobody may. */
  hidden?(value: Plain): void;
  /** The state files that a job was accepted for; absent where those in force are used. */
  content?: { readonly environment: string; readonly snapshot: string };
  /** For what a peel calls the function; absent where no peel is running. */
  origin?: RunOrigin;
  /** Reports progress to the caller; absent when nobody waits. Cheap to call. */
  progress?(progress: CallProgress): void;
  /** Takes what a command writes while it runs; absent when nobody follows it. Cheap to call. */
  output?(chunk: Uint8Array): void;
}

/** Which files of the tree a call means. */
export interface FilesOfCall {
  environment: string;
  /** 7 to 64 hexadecimal digits; absent for the files in force. */
  commit?: string;
}

/** A function that a peel can run. Failures are thrown: a `SvcError`, or a `FunctionFailure` with a value. */
export interface ModuleFunction {
  /** `module.function`. */
  name: string;
  /** Alternative names. */
  aliases?: readonly string[];
  /** One sentence for people. */
  doc: string;
  /** Arguments in the order of the command line. */
  args: Readonly<Record<string, ArgSpec>>;
  /** The map argument that receives `key=value` words of a command line whose key is not an argument. */
  openArgs?: string;
  /** It runs or shows files of the tree: which ones its arguments mean. */
  files?(args: CallArgs): FilesOfCall;
  /** The function changes nothing: it does not wait in the queue, and running it twice is harmless. */
  readOnly?: true;
  /** Its arguments contain no secrets: the audit shows them. Without it, it has their digest only. */
  plainArgs?: true;
  /**
   * Returns a problem with the combination of arguments that are each valid: `give either command or argv`.
   */
  refuse?(args: CallArgs): string | undefined;
  run(args: CallArgs, context: CallContext): Promise<Plain> | Plain;
}

/** A failure with a value, such as the output of a command that exited with 1. */
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
