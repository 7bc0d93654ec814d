import type * as v from "valibot";
import { sleep } from "../base/clock.ts";
import { SvcError, toSvcError } from "../base/errors.ts";
import { encode, type Plain } from "../base/msgpack.ts";
import { newRequestId } from "../base/request-id.ts";
import { WaitingRequest } from "../base/waiting.ts";
import { type Bus, requestAsOperator } from "../bus/connection/mod.ts";
import { type BusBinding, readReplies, readReply } from "../doors/bus/mod.ts";
import type { FieldsSchema, InputSchema } from "../fleet/operation/mod.ts";
import { withHint } from "./hints.ts";
import { operatorName } from "./operator.ts";

/** How long a master has to answer (specification, "Bus admin operations"). */
const usualTimeoutMs = 5_000;
/**
 * How often a request that reached nobody is sent again, and after which pause: longer than masters wait before they
 * connect to a bus that was restarted.
 */
const moreAttempts = 12;
const pauseMs = 250;

/** How often a request that was refused because there were too many is sent again, and how long it waits at most. */
const maxLimited = 30;
const maxLimitedMs = 2_000;

/** The message when nobody serves a subject, by the group of its operation. */
const noMaster: Readonly<Record<string, string>> = {
  cluster: "no master is answering: start svc-master",
  enrollments: "no master is answering: start one, or use --direct-kv to write to storage from here",
  reactor:
    "no master runs the reactor: start svc-master with reactor.enabled; after one was lost another takes over within 20 s",
};

/** What masters answer to an operation. */
export type AnswerTo<Binding extends { operation: { run(...given: never[]): Promise<unknown> } }> = Awaited<
  ReturnType<Binding["operation"]["run"]>
>;

/** Why masters may listen, and not to this connection. */
const otherUser =
  "masters with operators.require_signed take what your operator file signs over its own connection alone: leave master.creds_file out of your configuration";

/** No master serves a subject. */
export class NoMaster extends SvcError {
  /** A master that runs and serves nothing, and why, as a sentence. */
  readonly waiting: string | undefined;

  constructor(operation: string, bus?: Pick<Bus, "requester" | "user">, waiting?: string) {
    if (waiting !== undefined) {
      super("unavailable", `no master is answering: ${waiting}`);
      this.waiting = waiting;
      return;
    }
    const said = noMaster[operation.split(".")[0] ?? ""] ?? "no master is answering: start svc-master";
    const isOther = bus?.requester !== undefined && bus.requester.key !== bus.user;
    super("unavailable", isOther ? `${said}; ${otherUser}` : said);
  }
}

/** What sending needs of a binding. */
type SentBinding = Pick<BusBinding<never, never, never, never>, "hints"> & {
  operation: { name: string };
  bus: Omit<BusBinding<never, never, never, never>["bus"], "reply">;
};

/** How a request differs from most. */
interface RequestOptions {
  /** For what a master needs longer for. */
  timeoutMs?: number;
  /**
   * Whether to give up at once when no master serves the operation: there is another way, or there are more masters.
   */
  isHasty?: boolean;
  /** The name of the caller, for callers that send many requests: the system takes time to find it. */
  as?: string | undefined;
  /** The name of the master, where each one answers for itself. */
  master?: string;
}

/**
 * Asks the masters for an operation as the operator at the keyboard; one of them answers. An error names the id of
 * the request, by which it is found in the logs of the masters. A request that reached nobody is sent again for 3 s.
 *
 * @throws NoMaster when no master serves the operation
 * @throws SvcError what the master answered, `unavailable` when none answers in time, `forbidden` without the
 *   permission to ask
 */
export async function request<
  Deps,
  Input extends InputSchema,
  Output extends FieldsSchema,
  Key extends keyof v.InferOutput<Output>,
>(
  bus: Bus,
  binding: BusBinding<Deps, Input, Output, Key>,
  input: v.InferInput<Input>,
  options: RequestOptions = {},
): Promise<Pick<v.InferOutput<Output>, Key>> {
  return send(bus, binding, input as Record<string, Plain>, options, (reply) => readReply(binding, reply));
}

const severalTimeoutMs = 30_000;

/**
 * The same for a decision on several ids, up to 500.
 *
 * @param input the other fields of the operation
 * @returns in the order of the ids: what a master answered about each; calling it throws why it did not decide
 */
export function requestSeveral<
  Deps,
  Input extends InputSchema,
  Output extends FieldsSchema,
  Key extends keyof v.InferOutput<Output>,
>(
  bus: Bus,
  binding: BusBinding<Deps, Input, Output, Key>,
  ids: readonly string[],
  input: Omit<v.InferInput<Input>, "id">,
  options: RequestOptions = {},
): Promise<(() => Partial<Pick<v.InferOutput<Output>, Key>>)[]> {
  const fields = { ...(input as Record<string, Plain>), ids: [...ids] };
  const withTime = { timeoutMs: severalTimeoutMs, ...options };
  return send(bus, binding, fields, withTime, (reply) => readReplies(binding, ids, reply));
}

/** @param read what the reply says. @throws as `request` */
async function send<Answer>(
  bus: Bus,
  { operation, bus: lines, hints }: SentBinding,
  input: Record<string, Plain>,
  { timeoutMs = usualTimeoutMs, isHasty = false, as, master = "" }: RequestOptions,
  read: (reply: Uint8Array) => Answer,
): Promise<Answer> {
  const { bulk, token } = lines;
  const requestId = newRequestId();
  const { [token ?? ""]: inSubject, ...fields } = input;
  const subject = lines.subject.replace("*", String(inSubject)).replace("{master}", master);
  // The system looks up the caller, which takes too long for each of hundreds.
  const operator = bulk === true ? undefined : (as ?? requesterName(bus));
  const payload = encode({ ...fields, operator, request_id: requestId });
  // The pattern of the subject: no id is in the name of a span.
  const span = bus.span?.begin(`ask ${lines.subject}`, {
    kind: "client",
    attributes: { "messaging.system": "nats", "svc.request_id": requestId },
  });
  let reply: Uint8Array | undefined;
  try {
    for (let limited = 0; ; limited++) {
      reply = undefined;
      for (let left = isHasty ? 0 : moreAttempts; ; left--) {
        reply = await requestAsOperator(bus, subject, payload, timeoutMs, span, operation.name).catch(
          (thrown) => {
            throw explainSilence(thrown);
          },
        );
        if (reply !== undefined || left === 0) break;
        await sleep(bus.clock, pauseMs);
      }
      if (reply === undefined) {
        // Nobody needs it while masters answer.
        const { findWaitingMaster } = await import("../fleet/masters/mod.ts");
        throw new NoMaster(operation.name, bus, await findWaitingMaster(bus));
      }
      try {
        const answer = read(reply);
        span?.end();
        return answer;
      } catch (thrown) {
        const waitMs = limited < maxLimited ? waitOf(thrown) : undefined;
        if (waitMs === undefined) throw thrown;
        await sleep(bus.clock, waitMs);
      }
    }
  } catch (cause) {
    const { kind } = toSvcError(cause);
    span?.end(cause instanceof WaitingRequest ? undefined : kind);
    // What may not be sent reached nobody, and a surprise of this side is in no log of another.
    if (!(cause instanceof SvcError) || cause instanceof NoMaster || cause instanceof WaitingRequest) {
      throw cause;
    }
    if (kind === "forbidden" && reply === undefined) throw cause;
    throw new SvcError(kind, `${withHint(hints?.svc, cause).message} [request ${requestId}]`, { cause });
  }
}

/** How long to wait before the same request may succeed; `undefined` when that is too long, or it failed otherwise. */
function waitOf(thrown: unknown): number | undefined {
  const isLimited = thrown instanceof SvcError && thrown.kind === "rate_limited";
  const waitMs = isLimited ? thrown.retryAfterMs : undefined;
  return waitMs === undefined || waitMs > maxLimitedMs ? undefined : waitMs;
}

/** The caller of this connection: the operator who signs, or else the user at the keyboard. */
export function requesterName(bus: Pick<Bus, "requester">): string {
  return bus.requester?.name ?? operatorName();
}

/** A master that serves the subject waits for something else, which is nearly always the bus. */
function explainSilence(thrown: unknown): unknown {
  if (!(thrown instanceof SvcError) || thrown.kind !== "unavailable") return thrown;
  return new SvcError(
    "unavailable",
    `${thrown.message}: a master runs, and may still do it: check the bus with svc doctor`,
    { cause: thrown },
  );
}
