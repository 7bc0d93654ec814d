import type { Plain } from "../../base/msgpack.ts";
import type { CallArgs } from "../../host/modules/function.ts";

/** Where something was written, in the rendered text. */
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

/** A requisite whose targets are found. */
export interface Requisite {
  kind: RequisiteKind;
  /** As it was written: `file: /etc/motd`. */
  label: string;
  /** `order` of the states that are meant. */
  targets: readonly number[];
}

/** One question of `unless` or `onlyif`: a command line for /bin/sh, a call of a function, or the answer. */
export type Condition = string | boolean | { fun: string; args: CallArgs };

export interface Retry {
  /** How often the state is tried in all. */
  attempts: number;
  /** The result that ends it. */
  until: boolean;
  intervalMs: number;
  /** At most this much is added to the interval by chance. */
  splayMs: number;
}

/** One call of a state function, with all that decides about it. */
export interface LowState extends Place {
  /** Its place in the run, from 0. */
  order: number;
  id: string;
  sls: string;
  /** `file.managed` */
  function: string;
  /** What the state is about: its argument `name`, or else the id. */
  name: string;
  /** Arguments of the function, checked. */
  args: { [name: string]: Plain };
  requisites: readonly Requisite[];
  unless: readonly Condition[];
  onlyif: readonly Condition[];
  /** When it fails, nothing after it is run. */
  failhard: boolean;
  retry?: Retry;
}
