import { type MsgHdrs, NatsError } from "nats";
import { defined } from "../../base/defined.ts";
import type { Bus } from "../connection/mod.ts";

/** Timeout of a JetStream request, milliseconds. */
export const requestTimeoutMs = 5_000;

/** Error codes of JetStream (nats-server, server/errors.json). */
export const errorCodes = {
  noSuitablePeers: 10005,
  systemUnavailable: 10008,
  notLeader: 10009,
  noMessageFound: 10037,
  peerNotMember: 10040,
  sequenceNotFound: 10043,
  messageTooLarge: 10054,
  messageDeleteFailed: 10057,
  wrongLastId: 10070,
  wrongLastSequence: 10071,
  peerNotReplaced: 10075,
  streamOffline: 10118,
  consumerOffline: 10119,
} as const;

const notFoundStatus = 404;

/** JetStream answered a request with an error. */
export class JetStreamError extends Error {
  /** The equivalent HTTP status, for example 404. */
  readonly status: number;
  /** One of `errorCodes`, or another code. */
  readonly errorCode: number | undefined;

  constructor({ code, err_code, description }: ApiError) {
    super((description ?? "no reason given").slice(0, 200));
    this.status = code ?? 0;
    this.errorCode = err_code;
  }
}

/** The `error` of a reply of JetStream (NATS document ADR-1). */
interface ApiError {
  code?: number;
  err_code?: number;
  description?: string;
}

/**
 * Sends one request to JetStream.
 *
 * @returns the reply, which the caller must validate
 * @throws JetStreamError for an error in the reply, NatsError when no server answers in time
 */
export async function requestJetStream<Reply extends object>(
  bus: Pick<Bus, "nats">,
  subject: string,
  payload: Uint8Array | string,
  { timeoutMs = requestTimeoutMs, headers }: { timeoutMs?: number; headers?: MsgHdrs } = {},
): Promise<Partial<Reply>> {
  const options = { timeout: timeoutMs, ...defined({ headers }) };
  return readReply<Reply>((await bus.nats.request(subject, payload, options)).data);
}

/**
 * Reads a reply of JetStream.
 *
 * @throws JetStreamError for an error in the reply, Error when it is not a JSON object
 */
export function readReply<Reply extends object>(data: Uint8Array): Partial<Reply> {
  const reply: unknown = JSON.parse(new TextDecoder().decode(data));
  if (typeof reply !== "object" || reply === null) throw new Error("the reply is not a JSON object");
  if (!("error" in reply)) return reply as Partial<Reply>;
  const { error } = reply;
  throw new JetStreamError(typeof error === "object" && error !== null ? error : {});
}

/** What a stream without a leader is answered with: the error of servers without a majority. */
export function withoutLeader(): JetStreamError {
  return new JetStreamError({
    code: 503,
    err_code: errorCodes.systemUnavailable,
    description: "the stream has no leader",
  });
}

const leaderless: ReadonlySet<number | undefined> = new Set([
  errorCodes.systemUnavailable,
  errorCodes.notLeader,
  errorCodes.streamOffline,
  errorCodes.consumerOffline,
]);

/** Whether the error means that too few servers of the cluster are there to decide. */
export function isLeaderless(thrown: unknown): boolean {
  if (thrown instanceof JetStreamError) return leaderless.has(thrown.errorCode);
  return thrown instanceof NatsError && leaderless.has(thrown.api_error?.err_code);
}

/** Whether the error means that a stream, consumer or message does not exist. */
export function isNotFound(thrown: unknown): boolean {
  if (thrown instanceof JetStreamError) return thrown.status === notFoundStatus;
  return thrown instanceof NatsError && thrown.api_error?.code === notFoundStatus;
}
