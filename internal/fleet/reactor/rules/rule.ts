import type { Plain } from "../../../base/msgpack.ts";
import type { TextPosition } from "../../../base/place.ts";

/** The target of a job: only the source of the event, or a target expression. */
export type RuleTarget = { readonly source: true } | { readonly expression: string };

/**
 * An action of a rule. Values may contain placeholders where the loader allows them. `render` replaces them.
 */
export type Action =
  | {
      readonly kind: "job";
      readonly target: RuleTarget;
      readonly function: string;
      readonly args: Readonly<Record<string, Plain>>;
      /** The rule trusts its events: placeholders may be anywhere in the arguments. */
      readonly unsafe?: true;
      /** A duration as text. */
      readonly timeout?: string;
    }
  | {
      readonly kind: "states";
      readonly target: RuleTarget;
      /** Names of states. Empty means the highstate. */
      readonly sls: readonly string[];
      readonly test: boolean;
      readonly timeout?: string;
    }
  | { readonly kind: "approve" }
  | {
      readonly kind: "emit";
      readonly tag: string;
      readonly data: Readonly<Record<string, Plain>>;
    }
  | {
      readonly kind: "webhook";
      readonly url: string;
      /** File of the bearer token, read for each call. */
      readonly tokenFile?: string;
      /** Absent means the event itself. */
      readonly body?: Plain;
    };

export const operators = ["eq", "ne", "gt", "gte", "lt", "lte", "glob", "in", "exists"] as const;
export type Operator = (typeof operators)[number];

/** One comparison of a value of the event. */
export interface Condition {
  /** The path as written, such as `data.percent`. */
  readonly path: string;
  readonly operator: Operator;
  /** A number for gt, gte, lt and lte, a string for glob, a list of scalars for in, a boolean for exists. */
  readonly operand: Scalar | readonly Scalar[];
}
export type Scalar = string | number | boolean | null;

/** Where event data would decide what an action does. */
export interface OpenPlace {
  readonly line: number;
  /** `<file>:<line>: rule <name>: <reason>` */
  readonly text: string;
}

/** A validated rule. */
export interface Rule {
  /** Unique over all files. */
  readonly name: string;
  /** Globs on tags. One must match. */
  readonly match: readonly string[];
  /** Glob on the peel id, dotted or encoded. */
  readonly source?: string;
  /** All conditions must hold. */
  readonly when: readonly Condition[];
  /** Minimum time before it fires again for the same source, milliseconds. Absent means the configured default. */
  readonly throttleMs?: number;
  /** In order, at least one. */
  readonly actions: readonly Action[];
  /** Only with `unsafe: true`: what the rule would be refused for. */
  readonly unsafe?: readonly OpenPlace[];
  /** Path of its file, and its position in the file. */
  readonly file: string;
  readonly at: TextPosition;
}

/** A rule that is not in force, because event data would decide what it does. */
export interface RefusedRule {
  readonly name: string;
  /** At least one. */
  readonly places: readonly OpenPlace[];
  readonly file: string;
  readonly at: TextPosition;
}

export const maxRules = 1_000;
