export { createRunLock, type RunLock } from "./run-lock.ts";
export { createStatesService, type StatesServiceDeps } from "./service.ts";
