import { SvcError } from "../../../base/errors.ts";
import { isId } from "../../../base/id.ts";
import { approve } from "../../../fleet/enrollment/approve.ts";
import type { Directory } from "../../../fleet/enrollment/directory.ts";
import { type EnrollmentState, enrollmentStates, toStored } from "../../../fleet/enrollment/record.ts";
import { reject } from "../../../fleet/enrollment/reject.ts";
import { type EnforceRevocation, type RevokeDeps, revoke } from "../../../fleet/enrollment/revoke.ts";
import { enrollmentDocs } from "./enrollment-docs.ts";
import { pageOf, pageResponse } from "./page.ts";
import { type Call, json, type Route } from "./route.ts";

const maxReasonLength = 1024;

export interface EnrollmentRouteDeps {
  directory: Directory;
  operations: RevokeDeps & EnforceRevocation;
}

/** The operator's doors to enrollments (specification, "Operator REST API"). */
export function enrollmentRoutes(deps: EnrollmentRouteDeps): Route[] {
  return [
    {
      method: "GET",
      path: "/api/v1/enrollments",
      auth: "bearer",
      budget: "relaxed",
      doc: enrollmentDocs.list,
      async handle({ query }) {
        const state = stateOf(query.get("state") ?? "pending");
        const page = pageOf(query, (text) => isId("enr", text));
        await deps.directory.caughtUp();
        const found = deps.directory.list({ state, ...page, limit: page.limit + 1 });
        const path = "/api/v1/enrollments";
        return pageResponse(found, page, { path, query: { state }, idOf: ({ id }) => id });
      },
    },
    {
      method: "POST",
      path: "/api/v1/enrollments/:id/approve",
      auth: "bearer",
      budget: "relaxed",
      body: "optional-json",
      doc: enrollmentDocs.approve,
      async handle(call) {
        const force = fieldOf(call.body, "force", "boolean") === true;
        const record = await approve(deps.operations, {
          id: call.params.id ?? "",
          operator: call.username,
          force,
        });
        announce(call, "enrollment approved", record.id, record.peelId);
        return json(200, toStored(record));
      },
    },
    {
      method: "POST",
      path: "/api/v1/enrollments/:id/reject",
      auth: "bearer",
      budget: "relaxed",
      body: "optional-json",
      doc: enrollmentDocs.reject,
      async handle(call) {
        const reason = reasonOf(call.body);
        const record = await reject(deps.operations, {
          id: call.params.id ?? "",
          operator: call.username,
          ...(reason === undefined ? {} : { reason }),
        });
        announce(call, "enrollment rejected", record.id, record.peelId);
        return json(200, toStored(record));
      },
    },
    {
      method: "POST",
      path: "/api/v1/enrollments/:id/revoke",
      auth: "bearer",
      budget: "relaxed",
      body: "optional-json",
      doc: enrollmentDocs.revoke,
      async handle(call) {
        const reason = reasonOf(call.body);
        const { record } = await revoke(deps.operations, {
          id: call.params.id ?? "",
          operator: call.username,
          ...(reason === undefined ? {} : { reason }),
        });
        announce(call, "enrollment revoked", record.id, record.peelId);
        return json(200, toStored(record));
      },
    },
  ];
}

function announce(call: Call, event: string, id: string, peelId: string): void {
  call.note({ enrollment_id: id });
  call.log.info(event, { enrollment_id: id, peel_id: peelId, operator: call.username });
}

function stateOf(text: string): EnrollmentState | "all" {
  const states: readonly string[] = [...enrollmentStates, "all"];
  if (states.includes(text)) return text as EnrollmentState | "all";
  throw new SvcError("bad_request", `state must be one of ${states.join(", ")}`);
}

function reasonOf(body: unknown): string | undefined {
  const reason = fieldOf(body, "reason", "string") as string | undefined;
  if (reason !== undefined && reason.length > maxReasonLength) {
    throw new SvcError("bad_request", `reason may have at most ${maxReasonLength} characters`);
  }
  return reason;
}

function fieldOf(body: unknown, field: string, type: "string" | "boolean"): unknown {
  if (body === undefined) return undefined;
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new SvcError("bad_request", "the body must be a JSON object");
  }
  const value = (body as Record<string, unknown>)[field];
  if (value !== undefined && typeof value !== type)
    throw new SvcError("bad_request", `${field} must be a ${type}`);
  return value;
}
