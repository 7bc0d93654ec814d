import { mayDo, type RoleOperationDeps, showRoles } from "../../../fleet/roles/mod.ts";
import type { HttpDoor } from "./bind.ts";
import { mostTargetsBytes } from "./body.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const behindToken = { auth: "bearer", budget: "relaxed", tag: "Roles" } as const;

/** The operator's routes to roles. */
export function roleRoutes({ bind }: HttpDoor, deps: RoleOperationDeps): Route[] {
  return [
    bind(showRoles, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/roles",
      id: "showRoles",
      answers: { 200: "The roles in force", 400: "The role does not exist" },
    }),
    bind(mayDo, deps, {
      ...behindToken,
      // It only reads; its question has lists and a check, which an address does not show well.
      method: "POST",
      path: "/api/v1/roles/can",
      id: "mayDo",
      body: "required",
      maxBodyBytes: mostTargetsBytes,
      bodyTitle: "RoleQuestion",
      answers: {
        200: "Whether you may do it, and what it needs",
        400: "The question is malformed, or names something unknown",
        404: "The job or rollout does not exist",
        503: notRead,
      },
    }),
  ];
}
