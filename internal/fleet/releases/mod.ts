export { releaseOperations } from "./joined.ts";
export { createReleaseJudge } from "./judge.ts";
export { noteTaken } from "./store.ts";
export { followReleases, type Releases } from "./view.ts";
