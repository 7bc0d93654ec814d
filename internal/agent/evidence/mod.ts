export type { Prove } from "./evidence-request.ts";
export { createProver, inspectProofs } from "./prove.ts";
