export { createAuditWriter } from "./append.ts";
export { type ChainProblem, createChainCheck } from "./chain.ts";
export { createAuditGate } from "./gate.ts";
export { createHeadTeller, readHead } from "./head.ts";
export { openAuditMemory } from "./memory.ts";
export { type AuditDeps, followAudit, listAudit, readChain, showAudit } from "./operations.ts";
export { createRecorder, type Recorder } from "./recorder.ts";
export { jobSubjects } from "./subjects.ts";
export { createVersionFloors } from "./versions.ts";
