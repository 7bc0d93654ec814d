import { headers } from "nats";
import type { Bus } from "../connection/mod.ts";
import { errorCodes, JetStreamError, readReply, requestJetStream } from "./request.ts";

/** What a server answers when another message is the last one. */
const overtaken: ReadonlySet<number | undefined> = new Set([
  errorCodes.wrongLastSequence,
  errorCodes.wrongLastId,
]);

/** Conditions for storing a message, and its effect on other messages. */
export interface StoreOptions {
  /** The stream stores only one message with this ID within its duplicate window. */
  id?: string | undefined;
  /** Sequence of the last message on the subject; 0 for none. */
  lastOnSubject?: number | undefined;
  /** Sequence of the last message in the whole stream. */
  lastInStream?: number | undefined;
  /** ID of the last message in the whole stream; a server that was restarted may have forgotten it. */
  lastId?: string | undefined;
  /** The message replaces all earlier ones on its subject. */
  rollup?: boolean;
  /** The message marks a key of a bucket as removed (NATS document ADR-8). */
  removal?: "DEL" | "PURGE" | undefined;
  /** How long the server may take. */
  timeoutMs?: number;
}

/**
 * Stores a message in the stream that captures its subject.
 *
 * @returns its sequence in the stream; `undefined` when another message is the last one
 * @throws JetStreamError when it was refused, NatsError when no server answers in time
 */
export async function storeMessage(
  bus: Pick<Bus, "nats">,
  subject: string,
  data: Uint8Array,
  { id, lastOnSubject, lastInStream, lastId, rollup, removal, timeoutMs }: StoreOptions,
): Promise<number | undefined> {
  const head = headers();
  if (id !== undefined) head.set("Nats-Msg-Id", id);
  if (lastOnSubject !== undefined) head.set("Nats-Expected-Last-Subject-Sequence", `${lastOnSubject}`);
  if (lastInStream !== undefined) head.set("Nats-Expected-Last-Sequence", `${lastInStream}`);
  if (lastId !== undefined) head.set("Nats-Expected-Last-Msg-Id", lastId);
  if (removal !== undefined) head.set("KV-Operation", removal);
  if (rollup === true) head.set("Nats-Rollup", "sub");
  try {
    const options = { headers: head, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    return sequenceOf(await requestJetStream<Acknowledgement>(bus, subject, data, options));
  } catch (thrown) {
    if (thrown instanceof JetStreamError && overtaken.has(thrown.errorCode)) return undefined;
    throw thrown;
  }
}

/**
 * Reads the reply of JetStream to a message to store.
 *
 * @returns the sequence of the message in the stream
 * @throws JetStreamError when it was refused, Error when the answer is not an acknowledgement
 */
export function readAcknowledgement(answer: Uint8Array): number {
  return sequenceOf(readReply<Acknowledgement>(answer));
}

interface Acknowledgement {
  seq: number;
}

function sequenceOf({ seq }: Partial<Acknowledgement>): number {
  if (typeof seq === "number") return seq;
  throw new Error("the acknowledgement has no sequence number");
}
