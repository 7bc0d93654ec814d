import type { Span } from "../../base/trace.ts";
import type { JobReturn } from "../../wire/return.ts";

/** Ends the span of a call on this peel with how it ended. */
export function endTrace(span: Span, { success, outcome, duration_ms }: JobReturn): void {
  const how = outcome ?? (success ? "ok" : "failed");
  span.set({ "svc.outcome": how, "svc.run_ms": duration_ms });
  span.end(how === "ok" ? undefined : how);
}
