export type { Prove } from "./asked.ts";
export { createProver, inspectProofs } from "./prove.ts";
