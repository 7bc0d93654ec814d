/**
 * What a role can be allowed, by kind: the one table of scopes (operators.md, "Roles"). An operation names its
 * scope from it, and a roles file uses the same words.
 */
export const scopes = {
  jobs: ["run", "list", "show", "cancel"],
  enrollments: [
    "list",
    "show",
    "approve",
    "reject",
    "revoke",
    "label",
    "expect",
    "suspend",
    "resume",
    "clear-clone",
    "restore",
    "discard",
    "revoke-user",
  ],
  rollouts: ["list", "show", "start", "pause", "resume", "abort"],
  upgrades: ["start"],
  approvals: ["list", "show", "approve", "deny"],
  keys: ["read", "rotate"],
  roles: ["read"],
  reactor: ["status", "rules", "test", "reset"],
  settings: ["render", "reveal"],
  facts: ["read", "resolve"],
  states: ["read", "plan", "release"],
  masters: ["read"],
  events: ["read"],
  binaries: ["put"],
  tokens: ["list", "create", "revoke"],
  "join-tokens": ["list", "show", "create", "revoke"],
  operators: ["list", "show", "add", "disable", "enable", "roles", "remove", "administrators"],
  audit: ["read", "verify"],
  console: ["use"],
  cluster: ["read", "add", "remove"],
} as const satisfies Record<string, readonly string[]>;

export type ScopeKind = keyof typeof scopes;

/** What a caller needs to be allowed for an operation. */
export type Scope = { [K in ScopeKind]: { kind: K; action: (typeof scopes)[K][number] } }[ScopeKind];

/** `enrollments approve` */
export type ScopeName = { [K in ScopeKind]: `${K} ${(typeof scopes)[K][number]}` }[ScopeKind];

/** `enrollments approve` */
export const nameOfScope = ({ kind, action }: Scope): ScopeName => `${kind} ${action}` as ScopeName;

/** `enrollments.approve`, as most operations are named */
export type DottedScope = { [K in ScopeKind]: `${K}.${(typeof scopes)[K][number]}` }[ScopeKind];

/** The scope of an operation that has its name. */
export function scopeNamed(name: string): Scope {
  const [kind, action] = name.split(".");
  return { kind, action } as Scope;
}
