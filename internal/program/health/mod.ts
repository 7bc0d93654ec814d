export { type Check, type CheckResult, runChecks } from "./check.ts";
export { assemble, createParts, type OffersOf, type Parts } from "./parts.ts";
export { createRegistry, type MetricInfo, type MetricsRegistry } from "./registry.ts";
export { healthWords, startHealthServer } from "./server.ts";
export { countSpans } from "./spans.ts";
