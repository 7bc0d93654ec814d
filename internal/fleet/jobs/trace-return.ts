import type { Tracer } from "../../base/trace.ts";
import type { JobNews } from "./events.ts";

/** Returns of one job in a trace, at most: those of a large fleet would displace all other spans. */
export const maxTraced = 256;

/** Shows in the trace of a job that the return of a peel has arrived, and how it ended. */
export function traceReturn(
  tracer: Tracer,
  parent: string | undefined,
  { jid, peel, at, return: returned }: JobNews,
): void {
  if (parent === undefined) return;
  const outcome = returned?.outcome ?? (returned?.success === true ? "ok" : "failed");
  tracer
    .begin("return", {
      ...{ kind: "consumer", startedAt: at, parent },
      attributes: { "svc.jid": jid, "svc.peel": peel, "svc.outcome": outcome },
    })
    .end();
}
