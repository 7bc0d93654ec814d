/** The built-in roles. */
export const builtInRoles = ["admin", "operator", "approver", "viewer", "auditor"] as const;
export type BuiltInRole = (typeof builtInRoles)[number];

const everyRole = builtInRoles;
const workers = ["admin", "operator"] as const;
const deciders = [...workers, "approver"] as const;
const readersOfAudit = [...workers, "auditor"] as const;
const admins = ["admin"] as const;

/** Which built-in roles may use each operation with a scope, from the page on roles and not from the program. */
export const mayUse: Readonly<Record<string, readonly BuiltInRole[]>> = {
  "enrollments.list": everyRole,
  "enrollments.approve": deciders,
  "enrollments.reject": deciders,
  "enrollments.revoke": deciders,
  "enrollments.label": deciders,
  "enrollments.suspend": deciders,
  "enrollments.resume": deciders,
  "enrollments.revoke-user": deciders,
  "enrollments.clear-clone": deciders,
  "enrollments.restore": deciders,
  "enrollments.discard": deciders,
  "enrollments.vouch": deciders,
  "decisions.verify": everyRole,
  "jobs.create": workers,
  "jobs.list": everyRole,
  "jobs.show": everyRole,
  "jobs.cancel": workers,
  "jobs.follow": everyRole,
  "rollouts.start": workers,
  "rollouts.list": workers,
  "rollouts.show": workers,
  "rollouts.pause": workers,
  "rollouts.resume": workers,
  "rollouts.abort": workers,
  "rollouts.follow": workers,
  "reactor.status": workers,
  "reactor.rules": workers,
  "reactor.reset": workers,
  "reactor.test": workers,
  "targets.resolve": everyRole,
  "roles.show": admins,
  "tokens.create": admins,
  "tokens.list": admins,
  "tokens.revoke": admins,
  "operators.list": admins,
  "operators.show": admins,
  "operators.add": admins,
  "operators.disable": admins,
  "operators.enable": admins,
  "operators.roles": admins,
  "operators.remove": admins,
  "operators.administrators": admins,
  "operators.replace-administrators": admins,
  "operators.adoption": admins,
  "approvals.list": deciders,
  "approvals.show": deciders,
  "approvals.approve": deciders,
  "approvals.deny": deciders,
  "audit.list": readersOfAudit,
  "audit.show": readersOfAudit,
  "audit.chain": readersOfAudit,
  "audit.follow": readersOfAudit,
  "binaries.put": workers,
  "binaries.commit": workers,
};
