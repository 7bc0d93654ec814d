export { type JoinTokenDeps, joinTokenTtl } from "./create.ts";
export { joinTokenOperations } from "./joined.ts";
export { isOpenToken, openTokens } from "./open-tokens.ts";
export { joinTokenUrl } from "./operations.ts";
export { pruneTokens } from "./prune.ts";
export { sealContext } from "./seal-context.ts";
export { createTakings, type UseResult } from "./take.ts";
export { createJoinTokenView } from "./view.ts";
export { createJoinTokenWay } from "./way-in.ts";
