export { builtinFacts, collectFacts } from "./collect.ts";
export { lastingMounts, parseMountInfo } from "./disks.ts";
export type { Facts } from "./fact.ts";
export { systemHost } from "./host.ts";
export { keepFresh } from "./keep-fresh.ts";
export { lookUpFact } from "./look-up.ts";
export { encodeFacts } from "./merge.ts";
export { runFactProgram } from "./run-program.ts";
export { type FactStore, openFactStore } from "./store.ts";
