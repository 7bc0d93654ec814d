export type { Prove } from "./asked.ts";
export { createProver } from "./prove.ts";
