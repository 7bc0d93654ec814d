export { createRequestJudge, type RequestJudge, unsigned } from "./door.ts";
export {
  isEnvelope,
  isSignedFor,
  nonceBytes,
  openRequest,
  type SignedRequest,
  signRequest,
} from "./envelope.ts";
export { idOfRequest } from "./ids.ts";
export { createNonces } from "./nonces.ts";
export { clockToleranceMs, type RequestRegistry } from "./verify.ts";
