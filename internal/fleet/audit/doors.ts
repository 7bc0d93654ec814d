import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Audit";

/** How the audit is reached. */
export const auditDoors = {
  listAudit: {
    rest: {
      ...{ method: "GET", path: "/api/v1/audit", tag, page: "entries", readsAll: true },
      orStream: "streamAudit",
      requestHeaders: { Accept: "`text/event-stream`: the entries from now on, as `streamAudit` sends them" },
      answers: { 200: "One page of them", 400: "A parameter is malformed" },
    },
    bus: { subject: "svc.admin.audit.list" },
  },
  streamAudit: {
    rest: {
      ...{ method: "GET", path: "/api/v1/audit/stream", tag, readsAll: true },
      stream: { maxDurationMs: 24 * 3600_000, resumes: "after" },
      answers: { 200: "The stream" },
    },
    bus: { subject: "svc.admin.audit.follow" },
  },
  verifyAudit: {
    rest: {
      ...{ method: "GET", path: "/api/v1/audit/chain", tag, readsAll: true },
      answers: { 200: "What was verified so far" },
    },
  },
  getAudit: {
    rest: {
      ...{ method: "GET", path: "/api/v1/audit/:seq", tag, show: "entry", readsAll: true },
      answers: { 200: "The entry", 404: "The entry does not exist" },
    },
    bus: { subject: "svc.admin.audit.show" },
    hints: { svc: { not_found: "see svc audit list" } },
  },
  readChain: {
    rest: {
      ...{ method: "GET", path: "/api/v1/audit/stored", tag },
      answers: { 200: "One page of them", 400: "A parameter is malformed" },
    },
    bus: { subject: "svc.admin.audit.chain" },
  },
} as const satisfies Doors<typeof operations>;
