import type * as v from "valibot";
import type { Clock } from "../../../base/clock.ts";
import {
  type Asked,
  type Call as Asking,
  type Caller,
  type FieldsSchema,
  type feed,
  type InputSchema,
  invoke,
  type Operation,
} from "../../../fleet/operation/mod.ts";
import { describeRoute, pathFields, type RouteLines } from "./describe-route.ts";
import { withHint } from "./hints.ts";
import { pageResponse } from "./page.ts";
import { type AuthRule, type Call, json, type Route } from "./route.ts";
import { eventStream } from "./stream.ts";

/**
 * How an operation is bound to HTTP: the fields of its input are in the path, in the query or in the body.
 */
export interface HttpBinding<Output> extends RouteLines {
  method: "GET" | "POST";
  /** With `:name` for the field with that name. */
  path: string;
  auth: AuthRule;
  budget: Route["budget"];
  /** Whether a POST requires a JSON body; otherwise the body is optional. */
  body?: "required";
  /** The field of the answer that is the body of the response, or the fields in it; absent means all. */
  show?: (string & keyof Output) | readonly (string & keyof Output)[];
  /** The field of the answer with the list, whose next page is named in a Link header. */
  page?: string & keyof Output;
  /** The status of a response; absent means the lowest of `answers`. */
  status?(output: Output): number;
  /** Makes a response that is more than a status and a body. */
  respond?(output: Output, call: Call): Response;
}

/** A streaming answer, as server-sent events. */
export interface StreamBinding extends RouteLines {
  path: string;
  auth: AuthRule;
  budget: Route["budget"];
  maxDurationMs: number;
}

const heartbeatMs = 30_000;

/** Makes routes of operations. */
export function httpDoor(clock: Clock) {
  const ask = async <Deps, Input extends InputSchema, Output extends v.GenericSchema>(
    operation: Operation<Deps, Input, Output>,
    deps: Deps,
    asked: Asked,
    call: Call,
    auth: AuthRule,
  ): Promise<v.InferOutput<Output>> => {
    const { requestId, log, note } = call;
    const asking: Asking = { caller: callerOf(auth, call), requestId, log, note, clock };
    try {
      return await invoke(operation, deps, asked, asking);
    } catch (thrown) {
      throw withHint(operation.name, thrown);
    }
  };

  return {
    bind<Deps, Input extends InputSchema, Output extends FieldsSchema>(
      operation: Operation<Deps, Input, Output>,
      deps: Deps,
      binding: HttpBinding<v.InferOutput<Output>>,
    ): Route {
      const { method, path, auth, budget, show, page, respond } = binding;
      const status = binding.status ?? (() => Number(Object.keys(binding.answers)[0]));
      return {
        method,
        path,
        auth,
        budget,
        ...(method === "GET" ? {} : { body: binding.body === "required" ? "json" : "optional-json" }),
        get doc() {
          return describeRoute(operation, binding);
        },
        operation: operation.name,
        async handle(call) {
          const asked =
            method === "GET" ? queryOf(operation.input, { path, auth }, call) : bodyOf(path, call);
          const output = await ask(operation, deps, asked, call, auth);
          if (respond !== undefined) return respond(output, call);
          const fields = output as Record<string, unknown>;
          if (page !== undefined) return pageResponse(operation, asked, fields, { path, page });
          return json(status(output), shownOf(fields, show));
        },
      };
    },

    stream<Deps, Input extends InputSchema>(
      operation: Operation<Deps, Input, typeof feed>,
      deps: Deps,
      binding: StreamBinding,
    ): Route {
      const { path, auth, budget, maxDurationMs } = binding;
      return {
        method: "GET",
        path,
        auth,
        budget,
        get doc() {
          return describeRoute(operation, { ...binding, method: "GET" });
        },
        operation: operation.name,
        async handle(call) {
          const asked = queryOf(operation.input, { path, auth }, call);
          const { start } = await ask(operation, deps, asked, call, auth);
          call.keepOpen();
          return eventStream({ clock, signal: call.signal, heartbeatMs, maxDurationMs, start });
        },
      };
    },
  };
}

function shownOf(fields: Record<string, unknown>, show: string | readonly string[] | undefined): unknown {
  if (show === undefined) return fields;
  if (typeof show === "string") return fields[show];
  return Object.fromEntries(show.map((name) => [name, fields[name]]));
}

function callerOf(auth: AuthRule, { username, headers }: Call): Caller {
  switch (auth) {
    case "none":
      return { kind: "anonymous", door: "rest" };
    case "nkey":
      return { kind: "peel", proof: headers.get("authorization") ?? "", door: "rest" };
    case "bearer":
      return { kind: "operator", name: username, door: "rest" };
  }
}

function givenBy(path: string, { params }: Call): Record<string, string> {
  return Object.fromEntries(pathFields(path).map((name) => [name, params[name] ?? ""]));
}

function bodyOf(path: string, call: Call): Asked {
  return { fields: call.body === undefined ? {} : call.body, within: "the body", given: givenBy(path, call) };
}

/**
 * Of a repeated parameter the first value counts. Public routes ignore unknown parameters. Routes with a
 * token refuse them, because a misspelt filter would show everything.
 */
function queryOf({ entries }: InputSchema, { path, auth }: Pick<Route, "path" | "auth">, call: Call): Asked {
  const fields = [...call.query]
    .reverse()
    .filter(([name]) => auth === "bearer" || Object.hasOwn(entries, name))
    .map(([name, text]) => [name, readText(entries[name], text)]);
  return { fields: Object.fromEntries(fields), given: givenBy(path, call) };
}

/** The value of a text for this schema: a number if the schema expects one and the text is one. */
function readText(schema: unknown, text: string): string | number {
  const { type, wrapped } = Object(schema) as { type?: string; wrapped?: unknown };
  if (wrapped !== undefined) return readText(wrapped, text);
  return type === "number" && /^\d{1,9}$/.test(text) ? Number(text) : text;
}
