export { assertOfSignIn, beginCodeFlow, endOfToken, redeemCode } from "./code-flow.ts";
export { refreshToken, type SignedToken, signInWithDevice } from "./device.ts";
export { inspectProvider } from "./inspect.ts";
export { placeOfIssuer } from "./provider.ts";
export { createOidc } from "./verify.ts";
