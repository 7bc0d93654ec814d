import { type RoleOperationDeps, showRoles } from "../../../fleet/roles/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";

/** The operator's route to roles. */
export function roleRoutes({ bind }: HttpDoor, deps: RoleOperationDeps): Route[] {
  return [
    bind(showRoles, deps, {
      auth: "bearer",
      budget: "relaxed",
      tag: "Roles",
      method: "GET",
      path: "/api/v1/roles",
      id: "showRoles",
      answers: { 200: "The roles in force", 400: "There is no such role" },
    }),
  ];
}
