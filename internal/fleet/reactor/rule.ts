import type { Plain } from "../../base/msgpack.ts";
import type { TextPosition } from "../../base/place.ts";

/** Whom a job of a rule is for: the source of the event alone, or a target expression. */
export type RuleTarget = { readonly source: true } | { readonly expression: string };

/**
 * What a rule does. Values may hold placeholders where the loader let them stand; `render` replaces them.
 */
export type Action =
  | {
      readonly kind: "job";
      readonly target: RuleTarget;
      readonly function: string;
      readonly args: Readonly<Record<string, Plain>>;
      /** A duration as text. */
      readonly timeout?: string;
    }
  | {
      readonly kind: "states";
      readonly target: RuleTarget;
      /** Names of states; none are the highstate. */
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
      /** Without one the event itself is sent. */
      readonly body?: Plain;
    };

export const operators = ["eq", "ne", "gt", "gte", "lt", "lte", "glob", "in", "exists"] as const;
export type Operator = (typeof operators)[number];

/** One comparison of a value of the event. */
export interface Condition {
  /** As it is written: `data.percent`. */
  readonly path: string;
  readonly operator: Operator;
  /** A number for gt, gte, lt and lte, a string for glob, a list of scalars for in, a boolean for exists. */
  readonly operand: Scalar | readonly Scalar[];
}
export type Scalar = string | number | boolean | null;

/** A rule as it came out of its file, checked. */
export interface Rule {
  /** Unique over all files. */
  readonly name: string;
  /** Globs on tags; one that matches is enough. */
  readonly match: readonly string[];
  /** Glob on the peel id, dotted or encoded. */
  readonly source?: string;
  /** All must hold. */
  readonly when: readonly Condition[];
  /** Rest after a fire for the same source, milliseconds; the default of the configuration without one. */
  readonly throttleMs?: number;
  /** In their order, at least one. */
  readonly actions: readonly Action[];
  /** Path of its file, and where in it the rule begins. */
  readonly file: string;
  readonly at: TextPosition;
}

/** Names of rules are labels of metrics and parts of ids. */
export const ruleName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
export const maxRules = 1_000;
