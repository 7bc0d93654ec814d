export { inspectReceiver } from "./inspect.ts";
export { startTracing, tracing } from "./start.ts";
