import { jsonText } from "../../base/json-text.ts";
import type { Log, LogFields } from "../../base/log.ts";
import type { Span } from "../../base/trace.ts";
import type { AuthRule, JoinStep, RawBody } from "../../fleet/operation/door-table/mod.ts";
import type { BudgetName } from "./limit.ts";
import type { RouteDoc } from "./route-doc.ts";
import type { SignedIn } from "./tokens.ts";

/** One request, as a handler gets it. */
export interface Call {
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  headers: Pick<Headers, "get">;
  /** The parsed JSON body; `undefined` when there is none. */
  body: unknown;
  /** Who the token is for; absent on routes without a token. */
  operator?: SignedIn;
  /** Address of the other end of the connection. */
  ip: string;
  /** Names the request in logs: the ID that the client sent, if it is well formed. */
  requestId: string;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
  log: Log;
  /** The request as a part of a trace; absent on routes without a token. */
  span?: Span;
  /** Adds fields to the record that is logged when the request is complete. */
  note(fields: LogFields): void;
  /** Removes the time limit of the answer, for a stream. */
  keepOpen(): void;
  /** Counts the answer as a stream of the operator until the client leaves. @throws SvcError `rate_limited` */
  beginStream(): void;
}

export interface Route {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path with `:name` parameters. */
  path: string;
  auth: AuthRule;
  budget: BudgetName;
  /** The step of a join that it is. */
  join?: JoinStep;
  /** Whether a body is read: `json` requires one, `optional-json` accepts one. */
  body?: "json" | "optional-json";
  /** A body that is not JSON. */
  raw?: RawBody;
  /** The largest body, where it is not the usual one. */
  maxBodyBytes?: number;
  /** Its API description. */
  doc: RouteDoc;
  /** The name of the operation that it binds. */
  operation?: string;
  handle(call: Call): Promise<Response> | Response;
}

/** A JSON answer. */
export function json(status: number, value: unknown, headers: Record<string, string> = {}): Response {
  const text = jsonText(value);
  return new Response(text, {
    status,
    headers: {
      "Content-Type": "application/json",
      "Content-Length": String(Buffer.byteLength(text)),
      ...headers,
    },
  });
}
