import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Tokens";

/** How tokens of the REST interface are reached. */
export const tokenDoors = {
  createToken: {
    rest: {
      ...{ method: "POST", path: "/api/v1/tokens", tag, body: "required", readsAll: true },
      answers: {
        201: "The token, shown once",
        403: "You lack a role of the token, or asked with a token that cannot create another",
        409: "A live token has this name",
      },
    },
    bus: {
      subject: "svc.admin.token.create",
      reply: ["id", "name", "roles", "state", "created_by", "created_at", "expires_at"],
    },
  },
  listTokens: {
    rest: { method: "GET", path: "/api/v1/tokens", tag, readsAll: true, answers: { 200: "All of them" } },
    bus: { subject: "svc.admin.token.list" },
  },
  revokeToken: {
    rest: {
      ...{ method: "DELETE", path: "/api/v1/tokens/:id", tag, show: "token", readsAll: true },
      answers: { 200: "The token, revoked", 404: "The token does not exist" },
    },
    bus: { subject: "svc.admin.token.revoke" },
  },
} as const satisfies Doors<typeof operations>;
