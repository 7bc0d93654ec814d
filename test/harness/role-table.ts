import type { ScopeName } from "../../internal/fleet/operation/scope.ts";

/** The built-in roles. */
export const builtInRoles = ["admin", "operator", "approver", "viewer", "auditor"] as const;
export type BuiltInRole = (typeof builtInRoles)[number];

const everyRole = builtInRoles;
const workers = ["admin", "operator"] as const;
const deciders = [...workers, "approver"] as const;
const readersOfAudit = [...workers, "auditor"] as const;
const admins = ["admin"] as const;

/** Scopes without an operation: of what is shown otherwise, or of a part of another request. */
export const withoutOperation = ["upgrades start", "keys rotate"] as const;

/** Which built-in roles have each scope of an operation, from the page on roles and not from the program. */
export const mayUse: Readonly<
  Record<Exclude<ScopeName, (typeof withoutOperation)[number]>, readonly BuiltInRole[]>
> = {
  "jobs run": workers,
  "jobs list": everyRole,
  "jobs show": everyRole,
  "jobs cancel": workers,
  "enrollments list": everyRole,
  "enrollments show": everyRole,
  "enrollments approve": deciders,
  "enrollments reject": deciders,
  "enrollments revoke": deciders,
  "enrollments label": workers,
  "enrollments expect": deciders,
  "enrollments suspend": deciders,
  "enrollments resume": deciders,
  "enrollments clear-clone": deciders,
  "enrollments restore": deciders,
  "enrollments discard": deciders,
  "enrollments revoke-user": deciders,
  "rollouts list": workers,
  "rollouts show": workers,
  "rollouts start": workers,
  "rollouts pause": workers,
  "rollouts resume": workers,
  "rollouts abort": workers,
  "approvals list": deciders,
  "approvals show": deciders,
  "approvals approve": deciders,
  "approvals deny": deciders,
  "keys read": admins,
  "roles read": admins,
  "reactor status": workers,
  "reactor rules": workers,
  "reactor test": workers,
  "reactor reset": workers,
  "settings render": workers,
  "settings reveal": admins,
  "facts read": everyRole,
  "facts resolve": everyRole,
  "states read": everyRole,
  "states plan": workers,
  "states release": ["admin"],
  "masters read": everyRole,
  "events read": deciders,
  "binaries put": workers,
  "tokens list": admins,
  "tokens create": admins,
  "tokens revoke": admins,
  "join-tokens list": deciders,
  "join-tokens show": deciders,
  "join-tokens create": deciders,
  "join-tokens revoke": deciders,
  "operators list": admins,
  "operators show": admins,
  "operators add": admins,
  "operators disable": admins,
  "operators enable": admins,
  "operators roles": admins,
  "operators remove": admins,
  "operators administrators": admins,
  "audit read": readersOfAudit,
  "audit verify": readersOfAudit,
  "console use": everyRole,
  "cluster read": workers,
  "cluster add": admins,
  "cluster remove": admins,
};
