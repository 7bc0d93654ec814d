import { defined } from "../../base/defined.ts";
import { SvcError, toSvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type Span, type Tracer, untraced } from "../../base/trace.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { type KeyCheck, untilKey } from "../../bus/storage/mod.ts";
import { append } from "../../bus/streams/mod.ts";
import { eventSubject } from "../../bus/subjects/subjects.ts";
import { encodeServiceEvent } from "../../wire/peel-event.ts";
import { enrollmentOperations } from "../enrollment/mod.ts";
import {
  type ApplyDeps,
  type Directory,
  findByPeel,
  indexKey,
  loadEnrollment,
} from "../enrollment/store/mod.ts";
import { type DispatchDeps, type JobRequest, jobOperations } from "../jobs/mod.ts";
import { type Call, type Gate, invoke, operatorOf } from "../operation/mod.ts";
import { type ActionOf, actionKeyOf, jobIdOf } from "./action-id.ts";
import { type Event, masterSource } from "./events/mod.ts";
import type { Rendered } from "./render.ts";
import { callWebhook, type WebhookDeps } from "./webhook.ts";

/** Dependencies of the actions. */
export interface PerformDeps {
  bus: Bus;
  dispatch: DispatchDeps;
  enrollments: ApplyDeps & { directory?: Pick<Directory, "rivalsOf"> };
  /**
   * Derives an id from a text. All masters get the same id, and no one else can predict it: with a known
   * message id, an attacker could make the stream reject the message as a duplicate.
   */
  messageId(key: string): string;
  webhook: Omit<WebhookDeps, "signal">;
  /** Judges and records what a rule does. */
  gate?: Gate;
  /** Begins a trace for each action. */
  tracer?: Tracer;
}

/** One action of one rule for one event, and what it takes to perform it. */
export interface Performance extends ActionOf {
  event: Event;
  action: Exclude<Rendered, { kind: "refused" }>;
  /** Aborts slow actions when another master takes over. */
  signal: AbortSignal;
  log: Log;
}

/**
 * Performs one action. It is idempotent, also across masters: the ids of jobs and emitted events are derived
 * from the event and the rule, an enrollment is approved once, and a webhook gets an idempotency key.
 *
 * @throws SvcError with the reason
 */
export async function perform(deps: PerformDeps, doing: Performance): Promise<void> {
  const { tracer = untraced } = deps;
  const span = tracer.begin(`react ${doing.action.kind}`, {
    attributes: { "svc.rule": doing.rule, "svc.action": doing.index },
  });
  try {
    await act(deps, { ...doing, span });
    span.end();
  } catch (thrown) {
    span.end(toSvcError(thrown).kind);
    throw thrown;
  }
}

/** An action under way, and its span. */
type Doing = Performance & { span: Span };

async function act(deps: PerformDeps, doing: Doing): Promise<void> {
  const { action, event } = doing;
  switch (action.kind) {
    case "job":
      return startJob(deps, doing, action.request);
    case "approve":
      return approve(deps, doing, action.enrollment);
    case "emit": {
      const subject = eventSubject(masterSource, action.tag.split("/").join("."));
      const { source, depth } = event;
      const message = encodeServiceEvent({ data: action.data, source, depth: depth + 1 });
      await append(deps.bus, subject, message, {
        id: deps.messageId(actionKeyOf(deps.dispatch.mac, doing)),
      });
      return;
    }
    case "webhook": {
      const { url, tokenFile, body } = action;
      const call = { url, body, key: actionKeyOf(deps.dispatch.mac, doing) };
      return callWebhook(tokenFile === undefined ? call : { ...call, tokenFile }, {
        ...deps.webhook,
        signal: doing.signal,
      });
    }
  }
}

async function startJob(deps: PerformDeps, performance: Doing, request: JobRequest): Promise<void> {
  const { dispatch } = deps;
  const { event, rule } = performance;
  const call = callOf(deps, performance, dispatch.clock);
  const metadata = { ...request.metadata, reactor: { rule, event: event.id, depth: event.depth } };
  // The timeout of the job starts now, however old the event is.
  const identity = { jid: jobIdOf(dispatch.mac, performance), createdAt: dispatch.clock.now() };
  await invoke(
    jobOperations.createJob.operation,
    { dispatch, identity },
    { fields: { ...request, metadata } },
    call,
  );
}

/** Never one whose peel trusted another CA, whatever the rule and the event say. */
async function approve(deps: PerformDeps, performance: Doing, id: string): Promise<void> {
  const { enrollments } = deps;
  const call = callOf(deps, performance, enrollments.clock);
  const decide = () =>
    invoke(enrollmentOperations.approveEnrollment.operation, enrollments, { fields: { id } }, call);
  try {
    await decide().catch(async (thrown) => {
      if (!(thrown instanceof SvcError) || thrown.kind !== "not_found") throw thrown;
      await untilIndexed(deps, performance, id);
      await decide();
    });
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.kind !== "invalid_transition") throw thrown;
    // Already done by this rule on a master that no longer runs.
    const { record } = await loadEnrollment(enrollments.enrollments, id);
    if (record.decidedBy !== operatorOf(call)) throw thrown;
  }
}

/** Longer than a master takes between its two writes. */
const indexMs = 5_000;

/**
 * Waits until the index of the peel points to this enrollment: a master writes it after the record, with which
 * the event comes. After five seconds it never will.
 */
async function untilIndexed(
  { bus, enrollments }: PerformDeps,
  { event, signal }: Performance,
  id: string,
): Promise<void> {
  const late = new AbortController();
  const timer = enrollments.clock.after(indexMs, () => late.abort(new Error("the enrollment has no index")));
  const place = { bucket: "enrollments", key: indexKey(event.source) };
  try {
    await untilKey(
      bus,
      { ...place, signal: AbortSignal.any([signal, late.signal]) },
      async (): Promise<KeyCheck<string>> =>
        (await findByPeel(enrollments.enrollments, event.source))?.id === id ? { found: id } : {},
    );
  } catch (thrown) {
    if (!late.signal.aborted) throw thrown;
  } finally {
    timer.cancel();
  }
}

function callOf({ gate }: Pick<PerformDeps, "gate">, { rule, log, span }: Doing, clock: Call["clock"]): Call {
  return { caller: { kind: "reactor", rule, door: "reactor" }, log, clock, span, ...defined({ gate }) };
}
