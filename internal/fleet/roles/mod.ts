export { covers } from "./covers.ts";
export { createRoleGate, describeCaller, type RoleGate, type RoleGateDeps, whoCan } from "./gate.ts";
export { roleOperations } from "./joined.ts";
export { notesOn } from "./notes.ts";
export { identityOf, type Persons } from "./persons.ts";
export { readRoles, rolesFile } from "./read-roles.ts";
export { type FilesOfRequest, filesOf } from "./requested-files.ts";
export { followRoles, inspectRoles } from "./roles-file.ts";
export { builtInScopes, scopesOf } from "./scopes.ts";
