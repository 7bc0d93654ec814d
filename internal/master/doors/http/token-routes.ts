import {
  createTokenOperation,
  listTokens,
  revokeTokenOperation,
  type TokenDeps,
} from "../../../fleet/tokens/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const behindToken = { auth: "bearer", budget: "relaxed", tag: "Tokens" } as const;

/** The operator's routes to tokens of this interface. */
export function tokenRoutes({ bind }: HttpDoor, deps: TokenDeps): Route[] {
  return [
    bind(createTokenOperation, deps, {
      ...behindToken,
      method: "POST",
      path: "/api/v1/tokens",
      id: "createToken",
      body: "required",
      answers: {
        201: "The token, shown once",
        403: "You lack a role of the token, or asked with a token that cannot create another",
        409: "A live token has this name",
        503: notRead,
      },
    }),
    bind(listTokens, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/tokens",
      id: "listTokens",
      answers: { 200: "All of them", 503: notRead },
    }),
    bind(revokeTokenOperation, deps, {
      ...behindToken,
      method: "DELETE",
      path: "/api/v1/tokens/:id",
      id: "revokeToken",
      show: "token",
      answers: { 200: "The token, revoked", 404: "The token does not exist", 503: notRead },
    }),
  ];
}
