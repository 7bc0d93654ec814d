export { digestOf, newTokenText, type TokenDeps, tokenLifetime } from "./create.ts";
export { type EndedTokens, openEndedTokens } from "./ended.ts";
export { tokenOperations } from "./joined.ts";
export { createTokenSignIn } from "./sign-in.ts";
export { type CreatorRoles, standingOf } from "./state.ts";
export { createTokenView } from "./view.ts";
