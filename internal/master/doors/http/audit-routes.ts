import { type AuditDeps, followAudit, listAudit, showAudit, verifyAudit } from "../../../fleet/audit/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const behindToken = { auth: "bearer", budget: "relaxed", tag: "Audit" } as const;

/** The operator's routes to the audit. */
export function auditRoutes({ bind, stream }: HttpDoor, deps: AuditDeps): Route[] {
  const followed = stream(followAudit, deps, {
    ...behindToken,
    path: "/api/v1/audit/stream",
    id: "streamAudit",
    maxDurationMs: 24 * 3600_000,
    answers: { 200: "The stream", 503: notRead },
  });
  return [
    bind(listAudit, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/audit",
      id: "listAudit",
      page: "entries",
      orStream: followed,
      requestHeaders: { Accept: "`text/event-stream`: the entries from now on, as `streamAudit` sends them" },
      answers: { 200: "One page of them", 400: "A parameter is malformed", 503: notRead },
    }),
    followed,
    bind(verifyAudit, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/audit/chain",
      id: "verifyAudit",
      answers: { 200: "What was verified so far", 503: notRead },
    }),
    bind(showAudit, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/audit/:seq",
      id: "getAudit",
      show: "entry",
      answers: { 200: "The entry", 404: "The entry does not exist", 503: notRead },
    }),
  ];
}
