export type { Place } from "./digest.ts";
export { followComparedFiles } from "./follow.ts";
