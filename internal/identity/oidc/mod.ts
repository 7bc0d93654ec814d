export { refreshToken, type SignedToken, signInWithDevice } from "./device.ts";
export { inspectProvider } from "./inspect.ts";
export { createOidc } from "./verify.ts";
