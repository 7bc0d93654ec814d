export { digestOf, newTokenText, type TokenDeps } from "./create.ts";
export { type EndedTokens, openEndedTokens } from "./ended.ts";
export { createTokenOperation, listTokens, revokeTokenOperation } from "./operations.ts";
export { createTokenSignIn } from "./sign-in.ts";
export { type CreatorRoles, standingOf } from "./state.ts";
export { createTokenView } from "./view.ts";
