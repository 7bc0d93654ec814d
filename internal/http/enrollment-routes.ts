import { SvcError } from "../base/errors.ts";
import { isId } from "../base/id.ts";
import { approve } from "../enrollment/approve.ts";
import type { Directory } from "../enrollment/directory.ts";
import { type EnrollmentState, enrollmentStates, toStored } from "../enrollment/record.ts";
import { reject } from "../enrollment/reject.ts";
import { type EnforceRevocation, type RevokeDeps, revoke } from "../enrollment/revoke.ts";
import { type Call, json, type Route } from "./route.ts";

const defaultLimit = 500;
const maxLimit = 5000;
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
      async handle({ query }) {
        const state = stateOf(query.get("state") ?? "pending");
        const limit = limitOf(query.get("limit"));
        const after = cursorOf(query.get("cursor"));
        await deps.directory.caughtUp();
        const found = deps.directory.list({ state, limit: limit + 1, ...(after ? { after } : {}) });
        const page = found.slice(0, limit);
        const last = page.at(-1)?.id;
        if (found.length <= limit || last === undefined) return json(200, page);
        const next = `/api/v1/enrollments?${new URLSearchParams({ state, limit: String(limit), cursor: last })}`;
        return json(200, page, { Link: `<${next}>; rel="next"` });
      },
    },
    {
      method: "POST",
      path: "/api/v1/enrollments/:id/approve",
      auth: "bearer",
      budget: "relaxed",
      body: "optional-json",
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

function limitOf(text: string | null): number {
  if (text === null) return defaultLimit;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > maxLimit) throw new SvcError("bad_request", `limit must be 1 to ${maxLimit}`);
  return limit;
}

function cursorOf(text: string | null): string | undefined {
  if (text === null) return undefined;
  if (!isId("enr", text))
    throw new SvcError("bad_request", "cursor must come from the Link header of a page");
  return text;
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
