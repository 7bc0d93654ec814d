export { isOwnRequest, judgeSession } from "./judge.ts";
export {
  beginAtProvider,
  createLink,
  endSession,
  listProviders,
  openSession,
  type SessionDeps,
  type Shown,
  showSession,
} from "./operations.ts";
export type { Who } from "./record.ts";
export { cookieName, cookieOf, digestOfSecret, newSecret } from "./secret.ts";
export type { SessionView } from "./view.ts";
export type { Standing } from "./who.ts";
