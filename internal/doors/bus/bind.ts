import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, meaningOf, SvcError, toSvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { newRequestId, requestIdOf } from "../../base/request-id.ts";
import { type Span, type Tracer, untraced } from "../../base/trace.ts";
import { WaitingRequest } from "../../base/waiting.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { encodeFailure, encodeSuccess, openReply } from "../../bus/subjects/envelope.ts";
import { adminQueue } from "../../bus/subjects/subjects.ts";
import type { Starters } from "../../fleet/approvals/mod.ts";
import type { BusLines, DepsOf, Door } from "../../fleet/operation/door-table/mod.ts";
import {
  type Caller,
  type Feed,
  type FieldsSchema,
  feed,
  type Gate,
  type InputSchema,
  invoke,
  namePeels,
  type Operation,
} from "../../fleet/operation/mod.ts";
import {
  listenToOperators,
  type OperatorBudgets,
  type OperatorRequest,
  type RequestJudge,
  signedOrNot,
} from "../../fleet/requests/mod.ts";
import { answerBytes } from "./answer-bytes.ts";
import { decideSeveral, severalIds } from "./several.ts";
import type { Streams } from "./streams.ts";

/** An operation with its lines of the bus. Masters serve it, and `svc` uses it for its requests. */
export interface BusBinding<
  Deps,
  Input extends InputSchema,
  Output extends FieldsSchema,
  Key extends keyof v.InferOutput<Output>,
> {
  operation: Operation<Deps, Input, Output>;
  bus: Omit<BusLines, "reply"> & { reply?: readonly Key[] };
  hints?: Door["hints"];
}

/** What the bus door needs of a master. */
export interface BusDoor {
  bus: Pick<Bus, "serve"> & { nats: Pick<Bus["nats"], "info"> };
  /** The name of the master, which some subjects have. */
  master: string;
  clock: Pick<Clock, "monotonic">;
  log: Log;
  /** Judges and records each request. */
  gate?: Gate;
  /** Verifies signed requests; without it they are refused. */
  requests?: RequestJudge;
  /** Learns how to start each operation whose requests may wait for others. */
  starters?: Starters;
  /** Begins a span for each request. */
  tracer?: Tracer;
  /** Sends what operations stream. */
  streams?: Pick<Streams, "start">;
  /** What each operator may send. */
  budgets: OperatorBudgets;
}

/** Serves each operation of a room that the bus reaches. */
export function serveRoom<Table>(door: BusDoor, table: Table, deps: DepsOf<Table>): { stop(): void } {
  const serving = Object.values(table as Readonly<Record<string, AnyBinding | { bus?: undefined }>>).flatMap(
    (one) => (one.bus === undefined ? [] : [serve(door, one, deps as never)]),
  );
  return {
    stop() {
      for (const one of serving) one.stop();
    },
  };
}

type AnyBinding = BusBinding<never, never, never, never>;

/**
 * Serves an operation to operators. A request is a MessagePack map with the fields of the operation, and
 * `operator` and `request_id` in addition, or an envelope with such a map, which an operator signed. The
 * permissions on the subject decide who may send it.
 */
function serve<
  Deps,
  Input extends InputSchema,
  Output extends FieldsSchema,
  Key extends keyof v.InferOutput<Output>,
>(door: BusDoor, binding: BusBinding<Deps, Input, Output, Key>, deps: Deps): { stop(): void } {
  const { bus, master, clock, log: ofMaster, gate, requests, starters } = door;
  const { tracer = untraced, streams, budgets } = door;
  const { operation, bus: lines } = binding;
  const { queue = adminQueue, bulk } = lines;
  const pattern = lines.subject.replace("{master}", master);
  starters?.add(operation, (fields, call) => invoke(operation, deps, { fields }, call));
  const ear = { bus, log: ofMaster, budgets, ...defined({ requests }) };
  return listenToOperators(ear, pattern, queue, async (incoming) => {
    const { subject, sender } = incoming;
    let log = ofMaster;
    let endStream = () => {};
    let span: Span | undefined;
    try {
      const { map, caller: signer } = await signedOrNot(incoming, operation.kind !== "read", requests).catch(
        (thrown) => {
          recordStranger(operation.name, incoming, thrown, gate);
          throw thrown;
        },
      );
      const { operator, request_id, ...fields } = map ?? {};
      const requestId = requestIdOf(request_id) ?? newRequestId();
      log = ofMaster.with({ request_id: requestId });
      if (map === undefined) throw new SvcError("bad_request", "the request must be a MessagePack map");
      span = tracer.begin(`request ${pattern}`, {
        kind: "server",
        attributes: { "messaging.system": "nats", "svc.request_id": requestId },
        ...defined({ parent: incoming.traceparent }),
      });
      const caller = signer ?? callerOf(operator, bulk === true);
      if (isFeed(operation)) endStream = budgets.beginStream(sender);
      const call = { requestId, log, clock, answerBytes: answerBytes(bus), ...defined({ gate, span }) };
      const run = (fields: Record<string, unknown>, caller: Caller) => {
        const raw = { fields: pageOf(lines, fields), given: tokenOf(lines, subject) };
        return invoke(operation, deps, raw, { ...call, caller });
      };
      const ids = severalIds(operation, lines, fields);
      if (ids !== undefined) {
        const one = async (...given: Parameters<typeof run>) => replyOf(lines, Object(await run(...given)));
        const answer = await decideSeveral(ids, fields, caller, one, call.answerBytes);
        span.end();
        log.info("bus request complete", { subject, ids: ids.length });
        return answer;
      }
      const answer = await run(fields, caller);
      span.end();
      if (bulk !== true) log.info("bus request complete", { subject });
      if (isFeed(operation)) {
        streams?.start(answer as unknown as Feed, { ...incoming, onEnd: endStream });
        return undefined;
      }
      return encodeSuccess(replyOf(lines, answer as Record<string, unknown>));
    } catch (thrown) {
      endStream();
      if (thrown instanceof WaitingRequest) {
        span?.end();
        log.info("bus request waits for others", { subject, approval: thrown.approval });
        return encodeFailure(thrown);
      }
      const { kind } = toSvcError(thrown);
      span?.end(kind);
      log[meaningOf(kind).level]("bus request refused", {
        subject,
        reason: describeError(thrown),
      });
      return encodeFailure(thrown);
    }
  });
}

/**
 * Of a request whose sender is not known nothing but its claims is recorded. The refusal does not wait for the entry:
 * an audit that cannot be written would hold up the answer, and the slots of the sender.
 */
function recordStranger(
  operation: string,
  { map, data, user }: Pick<OperatorRequest, "map" | "data" | "user">,
  thrown: unknown,
  gate: Gate | undefined,
): void {
  if (toSvcError(thrown).kind !== "unauthorized") return;
  const claimed = { operator: map?.operator, key: map?.key };
  const requestId = requestIdOf(map?.request_id) ?? newRequestId();
  void gate?.refuse?.({ operation, user, claimed, bytes: data, requestId }, thrown);
}

/** Whether an operation streams its answer. */
const isFeed = ({ output }: { output: unknown }): boolean => output === feed;

const operatorName = v.pipe(v.string(), v.minLength(1), v.maxLength(256));

/** @throws SvcError `bad_request` when `operator` is missing or malformed */
function callerOf(operator: unknown, isBulk: boolean): Caller {
  if (v.is(operatorName, operator)) return { kind: "operator", name: operator, door: "bus" };
  if (isBulk && operator === undefined) return { kind: "anonymous", door: "bus" };
  if (operator === undefined) throw new SvcError("bad_request", "operator is required");
  throw new SvcError("bad_request", "operator must be a text of 1 to 256 characters");
}

/** @throws SvcError `bad_request` for a page that is too long */
function pageOf(
  { page, ignored = [] }: Pick<BusLines, "page" | "ignored">,
  fields: Record<string, unknown>,
): Record<string, unknown> {
  const known = Object.fromEntries(Object.entries(fields).filter(([name]) => !ignored.includes(name)));
  if (page === undefined) return known;
  const { limit = page.usual } = known;
  if (typeof limit === "number" && limit > page.max) {
    throw new SvcError("bad_request", `limit must be 1 to ${page.max}`);
  }
  return { ...known, limit };
}

function tokenOf(
  { subject: pattern, token }: Pick<BusLines, "subject" | "token">,
  subject: string,
): Record<string, string> {
  if (token === undefined) return {};
  return { [token]: subject.split(".")[pattern.split(".").indexOf("*")] ?? "" };
}

function replyOf(
  { reply }: { reply?: readonly PropertyKey[] },
  answer: Record<string, unknown>,
): Record<string, unknown> {
  if (reply === undefined) return answer;
  return Object.fromEntries(Object.entries(answer).filter(([name]) => reply.includes(name)));
}

const severalReply = v.object({ results: v.array(v.looseObject({ id: v.string(), ok: v.boolean() })) });

/**
 * Reads the reply to a decision on several ids.
 *
 * @returns in the order of the ids: what a master answered about each, or why it did not decide
 * @throws SvcError the error in the reply; `internal` for one that does not answer about each id
 */
export function readReplies<
  Deps,
  Input extends InputSchema,
  Output extends FieldsSchema,
  Key extends keyof v.InferOutput<Output>,
>(
  binding: Pick<BusBinding<Deps, Input, Output, Key>, "operation" | "bus">,
  ids: readonly string[],
  bytes: Uint8Array,
): (() => Partial<Pick<v.InferOutput<Output>, Key>>)[] {
  const { results } = openReply(severalReply, bytes);
  if (results.length !== ids.length || results.some(({ id }, at) => id !== ids[at])) {
    throw new SvcError("internal", "the master sent a malformed reply");
  }
  return results.map(({ id: _, ...result }) => () => {
    // It was decided, and the answer had no room for more.
    if (result.ok && Object.keys(result).length === 1) return {};
    return readReply(binding, encode(result as Plain));
  });
}

/**
 * Reads the reply of a master, and adds to encoded peel ids those with dots, as `peel`.
 *
 * @throws SvcError the error in the reply
 */
export function readReply<
  Deps,
  Input extends InputSchema,
  Output extends FieldsSchema,
  Key extends keyof v.InferOutput<Output>,
>(
  { operation, bus: { reply } }: Pick<BusBinding<Deps, Input, Output, Key>, "operation" | "bus">,
  bytes: Uint8Array,
): Pick<v.InferOutput<Output>, Key> {
  const { entries } = operation.output;
  const named: readonly PropertyKey[] = reply ?? Object.keys(entries);
  const shown = Object.entries(entries).filter(([name]) => named.includes(name));
  const schema = v.object(Object.fromEntries(shown));
  return namePeels(schema, openReply(schema, bytes)) as Pick<v.InferOutput<Output>, Key>;
}
