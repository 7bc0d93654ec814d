import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Roles";

/** How roles are reached. */
export const roleDoors = {
  showRoles: {
    rest: {
      ...{ method: "GET", path: "/api/v1/roles", tag },
      answers: { 200: "The roles in force", 400: "The role does not exist" },
    },
    bus: { subject: "svc.admin.role.show" },
  },
  mayDo: {
    rest: {
      // It only reads; its question has lists and a check, which an address does not show well.
      ...{ method: "POST", path: "/api/v1/roles/can", tag, readsAll: true },
      ...{ body: "required", maxBodyBytes: 512 * 1024, bodyTitle: "RoleQuestion" },
      answers: {
        200: "Whether you may do it, and what it needs",
        400: "The question is malformed, or names something unknown",
        404: "The job or rollout does not exist",
      },
    },
    bus: { subject: "svc.admin.role.can" },
  },
} as const satisfies Doors<typeof operations>;
