export { openGit } from "./git.ts";
export { openMirror } from "./mirror.ts";
export { type GitSync, startGitSync } from "./sync.ts";
