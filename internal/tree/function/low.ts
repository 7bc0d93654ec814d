import type { Plain } from "../../base/msgpack.ts";
import type { CallArgs } from "../../host/modules/mod.ts";

/** A place in the rendered text. */
export interface Place {
  /** Path in the tree: `web/init.sls`. */
  file: string;
  /** Counted from 1. */
  line: number;
}

/** The place alone of what has one. */
export function placeOf({ file, line }: Place): Place {
  return { file, line };
}

/** How a state depends on others; `docs/states.md` has the meaning of each. */
export const requisiteKinds = [
  "require",
  "require_any",
  "watch",
  "watch_any",
  "onchanges",
  "onchanges_any",
  "onfail",
  "onfail_all",
  "prereq",
  "listen",
] as const;
export type RequisiteKind = (typeof requisiteKinds)[number];

/** A requisite with resolved targets. */
export interface Requisite {
  kind: RequisiteKind;
  /** As written: `file: /etc/motd`. */
  label: string;
  /** `order` of the target states. */
  targets: readonly number[];
  /** There is no such state, so the state that refers to it fails. */
  isMissing?: true;
}

/** One condition of `unless` or `onlyif`: a command line for /bin/sh, a function call, or a constant. */
export type Condition = string | boolean | { fun: string; args: CallArgs };

export interface Retry {
  /** Maximum number of attempts. */
  attempts: number;
  /** The result that ends the retries. */
  until: boolean;
  intervalMs: number;
  /** Maximum random delay added to the interval, in milliseconds. */
  splayMs: number;
}

/** One call of a state function, with everything that decides how it runs. */
export interface LowState extends Place {
  /** Its position in the run, from 0. */
  order: number;
  id: string;
  sls: string;
  /** `file.managed` */
  function: string;
  /** The object of the state: its argument `name`, or else the id. */
  name: string;
  /** Validated arguments of the function. */
  args: { [name: string]: Plain };
  requisites: readonly Requisite[];
  unless: readonly Condition[];
  onlyif: readonly Condition[];
  /** Whether a failure of this state ends the run. */
  failhard: boolean;
  /** Whether later states run while this one does, as far as they do not depend on it. */
  parallel: boolean;
  /** Whether it does the work of later states of its function at once, or (`false`) leaves its own to none. */
  aggregate: boolean | undefined;
  retry?: Retry;
  /** Commands for /bin/sh that must succeed after the state. */
  checks: readonly string[];
  /** The state does not run if all these paths exist. */
  creates: readonly string[];
  /** Tag of an event that is sent after the state. */
  event?: string;
}
