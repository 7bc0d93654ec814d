import type * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { WaitingRequest } from "../../base/waiting.ts";
import {
  type AuthRule,
  type DepsOf,
  type Door,
  type Hints,
  hintFor,
  type RestLines,
} from "../../fleet/operation/door-table/mod.ts";
import {
  type Caller,
  type feed,
  type Gate,
  type InputSchema,
  type Call as Invocation,
  invoke,
  namePeels,
  type Operation,
  type RawRequest,
} from "../../fleet/operation/mod.ts";
import { isOwnRequest } from "../../fleet/sessions/mod.ts";
import { describeRoute, hasBody, pathFields } from "./describe-route.ts";
import { ownResponses } from "./own-responses.ts";
import { pageResponse } from "./page.ts";
import { type Call, json, type Route } from "./route.ts";
import type { RouteDoc } from "./route-doc.ts";
import { eventStream } from "./stream.ts";
import { notRead } from "./words.ts";

/** The HTTPS door of a master. */
export interface HttpDoor {
  clock: Clock;
  /** Judges and records each request of an operator. */
  gate?: Gate;
}

/** An operation that is reached over REST, with the lines of its route. */
interface Bound {
  id: string;
  operation: Operation<never, InputSchema, v.GenericSchema>;
  lines: Lines;
  hints: Hints | undefined;
}
type Lines = RestLines & Required<Pick<RestLines, "auth" | "budget">>;

const heartbeatMs = 30_000;
/** A client that may continue elsewhere comes back soon. */
const retryMs = 1_000;
const lastEventId = "Last-Event-ID";
/** As much as a page over the bus has by default. */
const usualAnswerBytes = 1024 * 1024;

/**
 * The routes of a room, in the order of its table.
 *
 * @param largest the largest body of an operation, where it depends on what the master accepts
 */
export function routesOf<Table>(
  door: HttpDoor,
  table: Table,
  deps: DepsOf<Table>,
  largest: Readonly<Record<string, number>> = {},
): Route[] {
  const doors = Object.entries(table as Readonly<Record<string, Door & Pick<Bound, "operation">>>);
  const routes = new Map<string, Route>();
  for (const [id, { operation, rest, hints }] of doors) {
    if (rest === undefined) continue;
    const lines = linesOf(rest, largest[id]);
    const bound = { id, operation, lines, hints: hints?.rest };
    routes.set(
      id,
      lines.stream === undefined ? answering(door, bound, deps, routes) : streaming(door, bound, deps),
    );
  }
  return [...routes.values()];
}

/** The lines of a route, with what most of them have. */
function linesOf(rest: RestLines, maxBodyBytes: number | undefined): Lines {
  const { answers, readsAll } = rest;
  return {
    ...{ auth: "bearer", budget: "relaxed", ...rest, ...defined({ maxBodyBytes }) },
    answers: readsAll === true ? { ...answers, 503: notRead } : answers,
  };
}

/** A route with one answer for each request. */
function answering(door: HttpDoor, bound: Bound, deps: unknown, others: ReadonlyMap<string, Route>): Route {
  const { id, operation, lines } = bound;
  const { path, auth, page, orStream, maxBodyBytes, raw: bytes } = lines;
  const inPath = pathFields(path);
  const inBody = hasBody(lines);
  return {
    ...common(bound),
    ...(inBody ? { body: lines.body === "required" ? "json" : "optional-json" } : {}),
    ...defined({ maxBodyBytes, raw: bytes }),
    get doc() {
      return docOf(bound);
    },
    async handle(call) {
      if (lines.ownPages === true) assertOwnPages(call);
      const stream = orStream === undefined || !acceptsStream(call) ? undefined : others.get(orStream);
      if (stream !== undefined) return stream.handle(call);
      const raw = inBody ? bodyOf(inPath, call) : queryOf(operation.input, inPath, auth, call);
      if (bytes !== undefined) addBody(raw, bytes.field, call);
      const output = await invokeFor(door, bound, deps, raw, call).catch(orWaiting);
      if (output instanceof WaitingRequest) return waitingResponse(output);
      const respond = ownResponses[id];
      if (respond !== undefined) return respond(output as never, call);
      const fields = Object(auth === "bearer" ? namePeels(operation.output, output) : output);
      if (page !== undefined) return pageResponse(operation, raw, fields, { path, page });
      return json(statusOf(lines, fields), shownOf(fields, lines.show));
    },
  };
}

/** A route whose answer is a stream of server-sent events. */
function streaming(door: HttpDoor, bound: Bound, deps: unknown): Route {
  const { operation, lines } = bound;
  const { path, auth, stream: { maxDurationMs, resumes } = { maxDurationMs: 0 } } = lines;
  const inPath = pathFields(path);
  return {
    ...common(bound),
    get doc() {
      return docOf(bound);
    },
    async handle(call) {
      const raw = queryOf(operation.input, inPath, auth, call);
      const last = resumes === undefined ? null : call.headers.get(lastEventId);
      // It takes precedence over the same field of the address, which stays as it was.
      if (resumes !== undefined && last !== null) raw.fields = { ...Object(raw.fields), [resumes]: last };
      call.beginStream();
      const { start } = (await invokeFor(door, bound, deps, raw, call)) as v.InferOutput<typeof feed>;
      call.keepOpen();
      return eventStream({
        ...{ clock: door.clock, signal: call.signal, heartbeatMs, maxDurationMs, start },
        ...(resumes === undefined ? {} : { retryMs }),
      });
    },
  };
}

/** What both kinds of routes have. */
function common({ operation, lines: { method, path, auth, budget, join } }: Bound) {
  return { method, path, auth, budget, operation: operation.name, ...defined({ join }) };
}

/** Converts the schemas of an operation, which takes a while: it is only done where the description is served. */
function docOf({ id, operation, lines }: Bound): RouteDoc {
  const resumes = lines.stream?.resumes;
  const requestHeaders =
    resumes === undefined
      ? lines.requestHeaders
      : { [lastEventId]: `The id of the last event that was received: \`${resumes}\`` };
  return describeRoute(operation, { ...lines, id, ...defined({ requestHeaders }) });
}

/** Runs the operation of a route for a request. @throws SvcError with the hint of this door */
async function invokeFor(
  { clock, gate }: HttpDoor,
  { operation, lines, hints }: Bound,
  deps: unknown,
  raw: RawRequest,
  call: Call,
): Promise<unknown> {
  const { requestId, log, note, span } = call;
  const invocation: Invocation = {
    caller: callerOf(lines.auth, call),
    answerBytes: lines.answerBytes ?? usualAnswerBytes,
    ...{ requestId, log, note, clock, ...defined({ gate, span }) },
  };
  try {
    return await invoke(operation, deps as never, raw, invocation);
  } catch (thrown) {
    throw thrown instanceof WaitingRequest ? thrown : withHint(thrown, hints);
  }
}

/** Adds the hint of this interface to the error of an operation. */
function withHint(thrown: unknown, hints: Hints = {}): unknown {
  if (!(thrown instanceof SvcError)) return thrown;
  const hint = hintFor(hints, thrown);
  return hint === undefined
    ? thrown
    : new SvcError(thrown.kind, `${thrown.message}; ${hint}`, { cause: thrown });
}

/** @throws SvcError `forbidden` */
function assertOwnPages({ headers }: Call): void {
  if (isOwnRequest(headers)) return;
  throw new SvcError(
    "forbidden",
    "only the console itself signs in here: programs send a bearer token with each request",
  );
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

function statusOf({ statusWith, answers }: Lines, fields: Record<string, unknown>): number {
  if (statusWith !== undefined && fields[statusWith.field]) return statusWith.status;
  return Number(Object.keys(answers)[0]);
}

function shownOf(fields: Record<string, unknown>, show: string | readonly string[] | undefined): unknown {
  if (show === undefined) return fields;
  if (typeof show === "string") return fields[show];
  return Object.fromEntries(show.flatMap((name) => (name in fields ? [[name, fields[name]]] : [])));
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

function bodyOf(inPath: readonly string[], call: Call): RawRequest {
  return {
    fields: call.body === undefined ? {} : call.body,
    within: "the body",
    given: givenBy(inPath, call),
  };
}

/** @throws SvcError `bad_request` for the body in the query */
function addBody(raw: RawRequest, field: string, { body }: Call): void {
  const fields: Record<string, unknown> = Object(raw.fields);
  if (Object.hasOwn(fields, field)) throw new SvcError("bad_request", `${field} is the body of the request`);
  if (body !== undefined) raw.fields = { ...fields, [field]: body };
}

/**
 * Of a repeated parameter the first value counts, unless the field is a list: then each is an item. Public routes ignore unknown parameters. Routes with a
 * token refuse them, because a misspelt filter would show everything.
 */
function queryOf(
  { entries }: InputSchema,
  inPath: readonly string[],
  auth: AuthRule,
  call: Call,
): RawRequest {
  const fields = [...new Set(call.query.keys())]
    .filter((name) => auth === "bearer" || Object.hasOwn(entries, name))
    .map((name) => [name, readTexts(entries[name], call.query.getAll(name))]);
  return { fields: Object.fromEntries(fields), given: givenBy(inPath, call) };
}

/** The value of the texts for this schema: all of them if it expects a list; a number, or true or false, if it expects one. */
function readTexts(schema: unknown, texts: readonly string[]): readonly string[] | string | number | boolean {
  const { type, wrapped } = Object(schema) as { type?: string; wrapped?: unknown };
  if (wrapped !== undefined) return readTexts(wrapped, texts);
  if (type === "array") return texts;
  const [text = ""] = texts;
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return type === "number" && /^\d{1,9}$/.test(text) ? Number(text) : text;
}
