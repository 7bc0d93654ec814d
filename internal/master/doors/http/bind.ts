import type * as v from "valibot";
import type { Clock } from "../../../base/clock.ts";
import { defined } from "../../../base/defined.ts";
import { SvcError } from "../../../base/errors.ts";
import { WaitingRequest } from "../../../base/waiting.ts";
import {
  type Asked,
  type Call as Asking,
  type AuthRule,
  type Caller,
  type DepsOf,
  type Door,
  type FieldsSchema,
  type feed,
  type Gate,
  type Hints,
  type InputSchema,
  invoke,
  namePeels,
  type Operation,
  type RestLines,
} from "../../../fleet/operation/mod.ts";
import { describeRoute, hasBody, pathFields, type RouteLines } from "./describe-route.ts";
import { hintsOf, withHint } from "./hints.ts";
import { pageResponse } from "./page.ts";
import { type Call, json, type Route } from "./route.ts";
import { eventStream } from "./stream.ts";
import { notRead } from "./words.ts";

/**
 * How an operation is bound to HTTP: the fields of its input are in the path, in the query or in the body.
 */
export interface HttpBinding<Output> extends RouteLines {
  method: Route["method"];
  /** With `:name` for the field with that name. */
  path: string;
  auth: AuthRule;
  budget: Route["budget"];
  /** A JSON body is required. Otherwise that of a POST is optional, and other methods have none. */
  body?: "required";
  /** The largest body, where it is not the usual one. */
  maxBodyBytes?: number;
  /** The field of the answer that is the body of the response, or the fields in it; absent means all. */
  show?: (string & keyof Output) | readonly (string & keyof Output)[];
  /** The field of the answer with the list, whose next page is named in a Link header. */
  page?: string & keyof Output;
  /** The status of a response; absent means the lowest of `answers`. */
  status?(output: Output): number;
  /** The route that answers clients which accept server-sent events, in place of this one. */
  orStream?: Pick<Route, "handle">;
  /** What a client can do about a refusal. */
  hints?: Hints;
  /** Makes a response that is more than a status and a body. */
  respond?(output: Output, call: Call): Response;
}

/** A streaming answer, as server-sent events. */
export interface StreamBinding extends RouteLines {
  path: string;
  auth: AuthRule;
  hints?: Hints;
  budget: Route["budget"];
  maxDurationMs: number;
  /** The field that says where a stream continues: a client that was cut off names it in `Last-Event-ID`. */
  resumes?: string;
}

const heartbeatMs = 30_000;
/** A client that may continue elsewhere comes back soon. */
const retryMs = 1_000;
const lastEventId = "Last-Event-ID";

/** What makes routes of operations. */
export type HttpDoor = ReturnType<typeof httpDoor>;

/**
 * The HTTPS door of a master.
 *
 * @param gate judges and records each request of an operator
 */
export function httpDoor({ clock, gate }: { clock: Clock; gate?: Gate }) {
  const ask = async <Deps, Input extends InputSchema, Output extends v.GenericSchema>(
    operation: Operation<Deps, Input, Output>,
    deps: Deps,
    asked: Asked,
    call: Call,
    { auth, hints }: Pick<HttpBinding<never>, "auth" | "hints">,
  ): Promise<v.InferOutput<Output>> => {
    const { requestId, log, note, span } = call;
    const asking: Asking = {
      caller: callerOf(auth, call),
      requestId,
      log,
      note,
      clock,
      ...defined({ gate, span }),
    };
    try {
      return await invoke(operation, deps, asked, asking);
    } catch (thrown) {
      if (thrown instanceof WaitingRequest) throw thrown;
      throw withHint(thrown, hints ?? hintsOf[operation.name]);
    }
  };

  return {
    bind<Deps, Input extends InputSchema, Output extends FieldsSchema>(
      operation: Operation<Deps, Input, Output>,
      deps: Deps,
      binding: HttpBinding<v.InferOutput<Output>>,
    ): Route {
      const { method, path, auth, budget, show, page, respond } = binding;
      const inPath = pathFields(path);
      const inBody = hasBody(binding);
      const status = binding.status ?? (() => Number(Object.keys(binding.answers)[0]));
      return {
        method,
        path,
        auth,
        budget,
        ...(inBody ? { body: binding.body === "required" ? "json" : "optional-json" } : {}),
        ...defined({ maxBodyBytes: binding.maxBodyBytes }),
        get doc() {
          return describeRoute(operation, binding);
        },
        operation: operation.name,
        async handle(call) {
          if (binding.orStream !== undefined && acceptsStream(call)) return binding.orStream.handle(call);
          const asked = inBody ? bodyOf(inPath, call) : queryOf(operation.input, inPath, auth, call);
          const output = await ask(operation, deps, asked, call, binding).catch(orWaiting);
          if (output instanceof WaitingRequest) return waitingResponse(output);
          if (respond !== undefined) return respond(output, call);
          const fields = (auth === "bearer" ? namePeels(operation.output, output) : output) as Record<
            string,
            unknown
          >;
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
      const { path, auth, budget, maxDurationMs, resumes } = binding;
      const inPath = pathFields(path);
      const resuming =
        resumes === undefined
          ? {}
          : {
              requestHeaders: { [lastEventId]: `The id of the last event that was received: \`${resumes}\`` },
            };
      return {
        method: "GET",
        path,
        auth,
        budget,
        get doc() {
          return describeRoute(operation, { ...binding, ...resuming, method: "GET" });
        },
        operation: operation.name,
        async handle(call) {
          const asked = queryOf(operation.input, inPath, auth, call);
          const last = resumes === undefined ? null : call.headers.get(lastEventId);
          // It counts more than the same field of the address, which stays as it was.
          if (resumes !== undefined && last !== null)
            asked.fields = { ...Object(asked.fields), [resumes]: last };
          const { start } = await ask(operation, deps, asked, call, binding);
          call.keepOpen();
          return eventStream({
            ...{ clock, signal: call.signal, heartbeatMs, maxDurationMs, start },
            ...(resumes === undefined ? {} : { retryMs }),
          });
        },
      };
    },
  };
}

/** The routes of a room, in the order of its table. */
export function routesOf<Table>({ bind }: HttpDoor, table: Table, deps: DepsOf<Table>): Route[] {
  const doors = Object.entries(table as Readonly<Record<string, AnyDoor>>);
  return doors.flatMap(([id, { operation, rest, hints }]) =>
    rest === undefined ? [] : [bind(operation, deps as never, bindingOf(id, rest, hints))],
  );
}

type AnyDoor = Door & { operation: Operation<never, InputSchema, FieldsSchema> };

/** The lines of a route, with what most of them have. */
function bindingOf(
  id: string,
  { readsAll, answers, ...lines }: RestLines,
  hints: Door["hints"],
): HttpBinding<unknown> {
  const binding = {
    ...{ auth: "bearer", budget: "relaxed", ...lines, id },
    answers: { ...answers, ...(readsAll === true ? { 503: notRead } : {}) },
    ...defined({ hints: hints?.rest }),
  };
  // The table of the room has checked that these are fields of the answer.
  return binding as HttpBinding<unknown>;
}

function acceptsStream({ headers }: Call): boolean {
  return (headers.get("accept") ?? "")
    .split(",")
    .some((range) => range.split(";")[0]?.trim().toLowerCase() === "text/event-stream");
}

function orWaiting(thrown: unknown): WaitingRequest {
  if (thrown instanceof WaitingRequest) return thrown;
  throw thrown;
}

/** Accepted, and done when others have agreed. */
function waitingResponse({ approval, needs }: WaitingRequest): Response {
  return json(202, { ok: true, approval, needs }, { Location: `/api/v1/approvals/${approval}` });
}

function shownOf(fields: Record<string, unknown>, show: string | readonly string[] | undefined): unknown {
  if (show === undefined) return fields;
  if (typeof show === "string") return fields[show];
  return Object.fromEntries(show.map((name) => [name, fields[name]]));
}

/** @throws SvcError `internal` for a route behind a token that was reached without one */
function callerOf(auth: AuthRule, { operator, headers, ip }: Call): Caller {
  switch (auth) {
    case "none":
      return { kind: "anonymous", door: "rest", address: ip };
    case "nkey":
      return { kind: "peel", proof: headers.get("authorization") ?? "", door: "rest" };
    case "bearer":
      if (operator === undefined) throw new SvcError("internal", "a request without its operator");
      return { kind: "operator", door: "rest", ...operator };
  }
}

function givenBy(names: readonly string[], { params }: Call): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, params[name] ?? ""]));
}

function bodyOf(inPath: readonly string[], call: Call): Asked {
  return {
    fields: call.body === undefined ? {} : call.body,
    within: "the body",
    given: givenBy(inPath, call),
  };
}

/**
 * Of a repeated parameter the first value counts, unless the field is a list: then each is an item. Public routes ignore unknown parameters. Routes with a
 * token refuse them, because a misspelt filter would show everything.
 */
function queryOf({ entries }: InputSchema, inPath: readonly string[], auth: AuthRule, call: Call): Asked {
  const fields = [...new Set(call.query.keys())]
    .filter((name) => auth === "bearer" || Object.hasOwn(entries, name))
    .map((name) => [name, readTexts(entries[name], call.query.getAll(name))]);
  return { fields: Object.fromEntries(fields), given: givenBy(inPath, call) };
}

/** The value of the texts for this schema: all of them if it expects a list; a number if it expects one. */
function readTexts(schema: unknown, texts: readonly string[]): readonly string[] | string | number {
  const { type, wrapped } = Object(schema) as { type?: string; wrapped?: unknown };
  if (wrapped !== undefined) return readTexts(wrapped, texts);
  if (type === "array") return texts;
  const [text = ""] = texts;
  return type === "number" && /^\d{1,9}$/.test(text) ? Number(text) : text;
}
