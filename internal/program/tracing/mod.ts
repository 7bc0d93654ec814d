export { inspectReceiver } from "./inspect.ts";
export { tracing } from "./start.ts";
