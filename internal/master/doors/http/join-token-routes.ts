import {
  createJoinToken,
  type JoinTokenDeps,
  listJoinTokens,
  revokeJoinToken,
  showJoinToken,
} from "../../../fleet/join-tokens/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const behindToken = { auth: "bearer", budget: "relaxed", tag: "Join tokens" } as const;
const unknown = "The token does not exist";

/** The operator's routes to tokens that hosts join with. */
export function joinTokenRoutes({ bind }: HttpDoor, deps: JoinTokenDeps): Route[] {
  return [
    bind(createJoinToken, deps, {
      ...behindToken,
      method: "POST",
      path: "/api/v1/enroll-tokens",
      id: "createJoinToken",
      answers: {
        201: "The token, shown once",
        409: "There are too many tokens, or too many uses of them",
        503: notRead,
      },
    }),
    bind(listJoinTokens, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/enroll-tokens",
      id: "listJoinTokens",
      answers: { 200: "All of them", 503: notRead },
    }),
    bind(showJoinToken, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/enroll-tokens/:id",
      id: "showJoinToken",
      answers: { 200: "The token", 404: unknown, 503: notRead },
    }),
    bind(revokeJoinToken, deps, {
      ...behindToken,
      method: "DELETE",
      path: "/api/v1/enroll-tokens/:id",
      id: "revokeJoinToken",
      show: "token",
      answers: { 200: "The token, revoked", 404: unknown, 503: notRead },
    }),
  ];
}
