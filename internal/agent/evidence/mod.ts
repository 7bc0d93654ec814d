export { createProver, type Prove } from "./prove.ts";
