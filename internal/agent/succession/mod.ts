export { type Accepted, openAccepted, readAccepted } from "./accepted.ts";
export { fetchStatement } from "./fetch-statement.ts";
export { judgeSuccession } from "./judge.ts";
export { outrank, type Ways, warnOfOutranked } from "./outrank.ts";
export { createPace } from "./pace.ts";
export { awaitSuccession } from "./watch.ts";
