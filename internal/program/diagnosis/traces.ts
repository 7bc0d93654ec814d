import { inspectReceiver, type TracingConfig } from "../tracing/mod.ts";
import type { Step } from "./step.ts";

const next =
  "correct otlp.endpoint, otlp.ca and otlp.headers_file, or open the way to the receiver; everything else works without it";

/** Whether the receiver of traces takes them. Nothing else depends on it. */
export const tracesStep: Step<{ tracing(): TracingConfig }> = {
  name: "traces",
  needs: ["configuration"],
  next,
  async check({ tracing }) {
    const { "otlp.endpoint": endpoint } = tracing();
    if (endpoint === "") return { level: "ok", message: "none are sent, as otlp.endpoint is empty" };
    const problem = await inspectReceiver(tracing());
    return problem === undefined
      ? { level: "ok", message: `${endpoint} takes them` }
      : { level: "warn", message: problem, next };
  },
};
