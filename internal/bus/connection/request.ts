import { ErrorCode, NatsError } from "nats";
import { describeError, SvcError } from "../../base/errors.ts";
import { fromOperatorSubject, parseFromOperator } from "../../base/names/operator-subject.ts";
import type { Span } from "../../base/trace.ts";
import { type Bus, traceHeaders } from "./connect.ts";
import { describeForbidden } from "./forbidden.ts";
import { newInbox } from "./new-inbox.ts";

/** What to do when credentials lack permissions that operators have in this version. */
export const newerCredentials = "create new ones with svc nats-auth credentials of this version";

/**
 * Sends a request of an operator to the masters, and waits for one reply. A connection of an operator who has a key
 * signs it. It is published below the key of the bus user, which is how the bus says who sent it. A request that another
 * key signs is published on the subject itself, where masters that take signed requests only do not listen.
 *
 * @param operation its name, such as `enrollments.list`, for a refusal
 * @returns `undefined` when no client serves the subject
 * @throws SvcError as `requestReply`
 */
export function requestAsOperator(
  bus: Bus,
  subject: string,
  payload: Uint8Array,
  timeoutMs: number,
  span?: Pick<Span, "traceparent">,
  operation?: string,
): Promise<Uint8Array | undefined> {
  const { published, data } = asOperator(bus, subject, payload);
  return requestReply(bus, published, data, timeoutMs, span, operation);
}

function asOperator({ requester, user }: Bus, subject: string, payload: Uint8Array) {
  const isOwn = requester === undefined || requester.key === user;
  return {
    published: isOwn ? fromOperatorSubject(user, subject) : subject,
    data: requester?.sign(subject, payload) ?? payload,
  };
}

/** The messages of an answer, in order. `unserved`: no client serves the subject. */
type OnAnswer = (message: { data: Uint8Array; acknowledge?: () => void } | "unserved" | SvcError) => void;

/**
 * Sends a request of an operator whose answer comes in several messages, until it is stopped.
 *
 * @param onAnswer also gets a SvcError, `forbidden` without permission to publish, after which nothing comes
 */
export function streamAsOperator(
  bus: Bus,
  subject: string,
  payload: Uint8Array,
  onAnswer: OnAnswer,
  span: Pick<Span, "traceparent"> | undefined = bus.span,
  operation?: string,
): { stop(): void } {
  const { published, data } = asOperator(bus, subject, payload);
  const reply = newInbox(bus);
  const subscription = bus.nats.subscribe(reply, {
    callback(cause, message) {
      if (cause?.isPermissionError() === true) {
        return onAnswer(new SvcError("forbidden", whyForbidden(bus, published, operation), { cause }));
      }
      if (cause !== null) return onAnswer(new SvcError("unavailable", describeError(cause), { cause }));
      if (message.headers?.code === Number(ErrorCode.NoResponders)) return onAnswer("unserved");
      const acknowledge = message.reply ? { acknowledge: () => void message.respond() } : {};
      onAnswer({ data: message.data, ...acknowledge });
    },
  });
  // By this property the client library finds who gets the refusal of a server to publish.
  Object.assign(subscription, { requestSubject: published });
  bus.nats.publish(published, data, { reply, ...traceHeaders(span?.traceparent) });
  return { stop: () => subscription.unsubscribe() };
}

/**
 * Sends a request, and waits for one reply.
 *
 * @param span the part of the trace that the request is
 * @returns `undefined` when no client serves the subject
 * @throws SvcError `unavailable` when no reply arrived in time, `forbidden` without permission to publish
 */
export async function requestReply(
  bus: Bus,
  subject: string,
  payload: Uint8Array,
  timeoutMs: number,
  span: Pick<Span, "traceparent"> | undefined = bus.span,
  operation?: string,
): Promise<Uint8Array | undefined> {
  try {
    const options = { timeout: timeoutMs, ...traceHeaders(span?.traceparent) };
    return (await bus.nats.request(subject, payload, options)).data;
  } catch (cause) {
    if (!(cause instanceof NatsError)) throw cause;
    if (isUnserved(cause)) return undefined;
    if (cause.isPermissionError()) {
      throw new SvcError("forbidden", whyForbidden(bus, subject, operation), { cause });
    }
    const { subject: requested } = parseFromOperator(subject);
    throw new SvcError("unavailable", `no answer on ${requested} within ${timeoutMs / 1000} s`, { cause });
  }
}

/** Whether the credentials of the connection do not allow a request: it reached nobody. */
export function isNotAllowed(thrown: unknown): boolean {
  return thrown instanceof SvcError && thrown.cause instanceof NatsError && thrown.cause.isPermissionError();
}

/** The caller, what is missing, and who can grant it. */
function whyForbidden({ requester }: Bus, published: string, operation: string | undefined): string {
  const { subject } = parseFromOperator(published);
  if (requester === undefined) return `these credentials may not publish on ${subject}: ${newerCredentials}`;
  return describeForbidden(requester.name, { operation, command: requester.command });
}

/** Whether a request failed because nobody serves its subject at this moment. */
export function isUnserved(thrown: unknown): boolean {
  return thrown instanceof NatsError && thrown.code === ErrorCode.NoResponders;
}
