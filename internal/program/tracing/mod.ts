export { inspectReceiver } from "./inspect.ts";
export { startTracing, type TracingConfig, tracing } from "./start.ts";
