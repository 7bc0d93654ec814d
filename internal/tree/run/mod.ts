export { createRunLock, type RunLock } from "./run-lock.ts";
export { createStatesService } from "./service.ts";
