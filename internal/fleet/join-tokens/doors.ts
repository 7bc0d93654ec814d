import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Join tokens";
const unknown = "The token does not exist";

/** How tokens that hosts join with are reached. */
export const joinTokenDoors = {
  createJoinToken: {
    rest: {
      ...{ method: "POST", path: "/api/v1/enroll-tokens", tag, readsAll: true },
      answers: {
        201: "The token, shown once",
        409: "There are too many tokens, or too many uses of them",
      },
    },
    bus: { subject: "svc.admin.join-token.create" },
  },
  listJoinTokens: {
    rest: {
      ...{ method: "GET", path: "/api/v1/enroll-tokens", tag, readsAll: true },
      answers: { 200: "All of them" },
    },
    bus: { subject: "svc.admin.join-token.list" },
  },
  showJoinToken: {
    rest: {
      ...{ method: "GET", path: "/api/v1/enroll-tokens/:id", tag, readsAll: true },
      answers: { 200: "The token", 404: unknown },
    },
    bus: { subject: "svc.admin.join-token.show" },
  },
  revokeJoinToken: {
    rest: {
      ...{ method: "DELETE", path: "/api/v1/enroll-tokens/:id", tag, show: "token", readsAll: true },
      answers: { 200: "The token, revoked", 404: unknown },
    },
    bus: { subject: "svc.admin.join-token.revoke" },
  },
} as const satisfies Doors<typeof operations>;
