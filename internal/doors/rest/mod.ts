export { routesOf } from "./bind.ts";
export { createDocs } from "./docs.ts";
export type { LimitedSource } from "./limited-sources.ts";
export { type ServedRoute, startListener } from "./listener.ts";
export type { Call, Route } from "./route.ts";
export {
  type Bearers,
  type ConsoleSessions,
  rolesByTokenFile,
  rolesOf,
  signIn,
  tokenFiles,
  warnOfTokenFiles,
} from "./tokens.ts";
