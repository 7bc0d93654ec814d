export { openGit } from "./git.ts";
export type { Remote } from "./local.ts";
export { openMirror } from "./mirror.ts";
export { findWorkTree, readCheckout } from "./read-checkout.ts";
export type { Released } from "./signed/released.ts";
export { assertSshKeygen } from "./signed/signers.ts";
export { runSshStep } from "./signed/ssh-step.ts";
export { type GitSync, startGitSync } from "./sync.ts";
