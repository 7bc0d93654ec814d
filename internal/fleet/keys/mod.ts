export { type KeysDeps, listDependents } from "./operations.ts";
