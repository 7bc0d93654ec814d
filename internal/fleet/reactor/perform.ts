import { SvcError } from "../../base/errors.ts";
import { derivedId } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { append, type Bus, eventSubject } from "../../bus/mod.ts";
import { type ApplyDeps, approveEnrollment, loadEnrollment } from "../enrollment/mod.ts";
import { createJob, type DispatchDeps, type JobRequest } from "../jobs/mod.ts";
import { type Call, invoke, operatorOf } from "../operation/mod.ts";
import { type Event, masterSource } from "./event.ts";
import { encodeServiceEvent } from "./message.ts";
import type { Rendered } from "./render.ts";
import { callWebhook, type WebhookDeps } from "./webhook.ts";

/** Dependencies of the actions. */
export interface PerformDeps {
  bus: Bus;
  dispatch: DispatchDeps;
  enrollments: ApplyDeps;
  /**
   * Derives an id from a text. All masters get the same id, and no one else can predict it: with a known
   * message id, an attacker could make the stream reject the message as a duplicate.
   */
  messageId(key: string): string;
  webhook: Omit<WebhookDeps, "signal">;
}

/** One action of one rule for one event. */
export interface Performance {
  event: Event;
  rule: string;
  /** Its index among the actions of the rule. */
  index: number;
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
  const { action, event, rule, index } = doing;
  switch (action.kind) {
    case "job":
      return startJob(deps, doing, action.request);
    case "approve":
      return approve(deps, doing, action.enrollment);
    case "emit": {
      const subject = eventSubject(masterSource, action.tag.split("/").join("."));
      const { source, depth } = event;
      const message = encodeServiceEvent({ data: action.data, source, depth: depth + 1 });
      await append(deps.bus, subject, message, { id: deps.messageId(keyOf(event, rule, index)) });
      return;
    }
    case "webhook": {
      const { url, tokenFile, body } = action;
      const call = { url, body, key: keyOf(event, rule, index) };
      return callWebhook(tokenFile === undefined ? call : { ...call, tokenFile }, {
        ...deps.webhook,
        signal: doing.signal,
      });
    }
  }
}

async function startJob(
  { dispatch }: PerformDeps,
  performance: Performance,
  request: JobRequest,
): Promise<void> {
  const { event, rule, index } = performance;
  const metadata = { ...request.metadata, reactor: { rule, event: event.id, depth: event.depth } };
  // The timeout of the job starts now, however old the event is.
  const identity = { jid: jidOf(event, rule, index), createdAt: dispatch.clock.now() };
  await invoke(
    createJob,
    { ...dispatch, identity },
    { fields: { ...request, metadata } },
    callOf(performance, dispatch.clock),
  );
}

/** Every redelivery of an event leads to the same job id. */
function jidOf(event: Event, rule: string, index: number): string {
  return derivedId("job", event.at, [event.id, rule, String(index)]);
}

/** The idempotency key of an action for an event. */
function keyOf(event: Event, rule: string, index: number): string {
  return jidOf(event, rule, index).slice("job-".length);
}

/** Never one whose peel trusted another CA, whatever the rule and the event say. */
async function approve({ enrollments }: PerformDeps, performance: Performance, id: string): Promise<void> {
  const call = callOf(performance, enrollments.clock);
  try {
    await invoke(approveEnrollment, enrollments, { fields: { id } }, call);
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.kind !== "invalid_transition") throw thrown;
    // Already done by this rule on a master that no longer runs.
    const { record } = await loadEnrollment(enrollments.enrollments, id);
    if (record.decidedBy !== operatorOf(call)) throw thrown;
  }
}

function callOf({ rule, log }: Performance, clock: Call["clock"]): Call {
  return { caller: { kind: "reactor", rule, door: "reactor" }, log, clock };
}
