import type { ScopeKind } from "../operation/mod.ts";

/** Which commits of an environment a rule of `jobs` allows. */
export type Commits = (typeof commitChoices)[number];
export const commitChoices = ["newest", "any"] as const;

/** A rule of `jobs`: these functions on these peels. */
export interface JobRule {
  /** Globs, as the file has them. */
  readonly patterns: readonly string[];
  /** The names of the functions that the globs match; aliases count as the function. */
  readonly functions: ReadonlySet<string>;
  /** A target expression. */
  readonly targets: string;
  /** Globs of the environments whose state files it may run, for functions that use any. */
  readonly environments: readonly string[];
  /** Whether only the newest files of an environment, or those of earlier commits too. */
  readonly commits: Commits;
  /** How many others must agree. */
  readonly approvals: number;
  /** Where it is written, for people: `role web-team, roles.yaml:4`. */
  readonly rule: string;
}

/** By name of a label, globs of the values that it may get. */
export type LabelLimits = ReadonlyMap<string, readonly string[]>;

/** A word of a list: an action of a kind. */
export interface Grant {
  readonly kind: ScopeKind;
  readonly action: string;
  /** How many others must agree. */
  readonly approvals: number;
  /** Which labels `enrollments label` may set or remove; absent means all. */
  readonly labels?: LabelLimits;
  /** A target expression: the peels that `states plan` may plan for; absent means all. */
  readonly targets?: string;
  /** As in `JobRule`. */
  readonly rule: string;
}

/** What a role allows; everything else is refused. */
export interface Role {
  readonly name: string;
  /** Whether every master has it without a file. */
  readonly builtIn: boolean;
  readonly jobs: readonly JobRule[];
  readonly grants: readonly Grant[];
}

/** Every role of a master, by name: those of its file, and those that are built in. */
export type RoleBook = ReadonlyMap<string, Role>;
