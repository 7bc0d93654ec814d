export { covers } from "./covers.ts";
export { createRoleGate, type RoleGate, whoAsks, whoCan } from "./gate.ts";
export { roleOperations } from "./joined.ts";
export type { RoleOperationDeps } from "./operations.ts";
export { readRoles } from "./read-roles.ts";
export { followRoles, inspectRoles } from "./roles-file.ts";
export { builtInScopes, scopesOf } from "./scopes.ts";
