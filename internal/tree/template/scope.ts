import type { Plain } from "../../base/msgpack.ts";
import type { Budget, Guard, Marks, ReadKind } from "../jinja/mod.ts";
import type { World } from "../jinja/values/mod.ts";
import type { ExpandedExpression } from "../targets/mod.ts";
import type { HostFunctions } from "./host-call.ts";

type Values = Readonly<Record<string, Plain>>;

/**
 * How templates and arguments of states are read: `strict` refuses what is unknown and undefined; `salt` warns of
 * unknown arguments, and writes what is undefined as an empty text.
 */
export const compatLevels = ["strict", "salt"] as const;
export type Compat = (typeof compatLevels)[number];

/** Where a value is looked up. */
export type WatchedTable = "facts" | "settings" | "labels";

/** Notices what templates read, so that peels for which all of that is equal need one rendering. */
export interface Watch {
  /** @returns whether a secret is in what was read */
  read(table: WatchedTable, path: readonly string[], kind: ReadKind): boolean;
  /** Whether the peel is a target, in a top file. */
  matches(expression: ExpandedExpression): boolean;
  /**
   * Whether the peel, or another one with this encoded id, is a target in a template. Templates without it read all
   * that a target could look at.
   */
  meets?(expression: ExpandedExpression, peelId?: string): boolean;
  /** From now on the template of this file reads. */
  enter(path: string): void;
  /** A secret decided what a template writes. */
  chose(): void;
}

/** The values that a template can look up. */
export interface Scope {
  /** Facts of the peel. */
  facts: Values;
  settings: Values;
  /** What targets of `match` see of the settings; all of it unless given. */
  shownSettings?: Values;
  /** What the fleet says of the peel; none unless given. */
  labels?: Readonly<Record<string, string>>;
  /** What `opts` has in addition. */
  opts?: Values;
  /** Functions that look at the host; none unless given. */
  host?: HostFunctions;
  /** `strict` unless given. */
  compat?: Compat;
  /** Called with each name that was written as an empty text because it is not defined. */
  onUndefined?(name: string, place: { file: string; line: number }): void;
  /**
   * Whether the templates are those of settings: they have less functions, and change no lists and maps, because what
   * gets into them could not be followed.
   */
  isOfSettings?: boolean;
  /** What makes words of values that are made of facts; without it they are written as they are. */
  guard?: Guard;
  /** Gets where each part of the rendered text comes from, in templates for checks. */
  marks?: Marks;
  /** Absent where nobody needs to know what templates read. */
  watch?: Watch;
  /** Present in a check, which knows nothing of a host. */
  check?: TemplateCheck;
}

/** What a check of a template assumes, and what it finds. */
export interface TemplateCheck {
  world: World;
  /** Variables that only a host knows. */
  unknown: ReadonlySet<string>;
  /** Where each part of the rendered text comes from. */
  marks: Marks;
  budget: Budget;
}
