import { adminQueue, type TokenAction, tokenSubject } from "../../bus/mod.ts";
import { createTokenOperation, listTokens, revokeTokenOperation, type TokenDeps } from "../tokens/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: TokenAction) => ({ subject: tokenSubject(action), queue: adminQueue });

export const tokensOverBus = {
  create: overBus({
    ...{ operation: createTokenOperation, ...at("create") },
    reply: ["id", "name", "roles", "state", "created_by", "created_at", "expires_at"],
  }),
  list: overBus({ operation: listTokens, ...at("list") }),
  revoke: overBus({ operation: revokeTokenOperation, ...at("revoke") }),
};

export function serveTokens(door: BusDoor, deps: TokenDeps): void {
  serve(door, tokensOverBus.create, deps);
  serve(door, tokensOverBus.list, deps);
  serve(door, tokensOverBus.revoke, deps);
}
