export {
  type Administrators,
  createAdministrators,
  type LearnedAdministrators,
  learnedIn,
} from "./administrators.ts";
export { type CommandKeys, createCommandKeys } from "./command-keys.ts";
export { createRecoveryKeys, type RecoveryKeys } from "./recovery-keys.ts";
export { createRefusedStatements, type RefusedStatements } from "./refused-statements.ts";
export { createRoots, type Roots, readRoots } from "./roots.ts";
