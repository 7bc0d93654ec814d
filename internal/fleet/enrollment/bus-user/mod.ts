export { type MintDeps, maxValidityMs, mint } from "./mint.ts";
