export { createRequestJudge, type RequestJudge } from "./door.ts";
export { idOfRequest } from "./ids.ts";
export { listenToOperators } from "./listen.ts";
export { createNonces } from "./nonces.ts";
export { signedOrNot } from "./signed-or-not.ts";
