export { createRequestJudge, type RequestJudge, unsigned } from "./door.ts";
export { idOfRequest } from "./ids.ts";
export { createNonces } from "./nonces.ts";
