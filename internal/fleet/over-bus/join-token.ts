import { adminQueue, type JoinTokenAction, joinTokenSubject } from "../../bus/mod.ts";
import {
  createJoinToken,
  type JoinTokenDeps,
  listJoinTokens,
  revokeJoinToken,
  showJoinToken,
} from "../join-tokens/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: JoinTokenAction) => ({ subject: joinTokenSubject(action), queue: adminQueue });

export const joinTokensOverBus = {
  create: overBus({ operation: createJoinToken, ...at("create") }),
  list: overBus({ operation: listJoinTokens, ...at("list") }),
  show: overBus({ operation: showJoinToken, ...at("show") }),
  revoke: overBus({ operation: revokeJoinToken, ...at("revoke") }),
};

export function serveJoinTokens(door: BusDoor, deps: JoinTokenDeps): void {
  serve(door, joinTokensOverBus.create, deps);
  serve(door, joinTokensOverBus.list, deps);
  serve(door, joinTokensOverBus.show, deps);
  serve(door, joinTokensOverBus.revoke, deps);
}
