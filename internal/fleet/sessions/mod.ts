export { sessionOperations } from "./joined.ts";
export { isOwnRequest, judgeSession } from "./judge.ts";
export type { SessionDeps, Shown } from "./operations.ts";
export { isOwnHost } from "./own-host.ts";
export type { Who } from "./record.ts";
export { cookieName, cookieOf, digestOfSecret, newSecret } from "./secret.ts";
export type { SessionView } from "./view.ts";
export type { Standing } from "./who.ts";
