import type { Bus } from "../connect.ts";
import { isNotFound, requestJetStream } from "./request.ts";

/** The last message that a stream holds on a subject. */
export interface LastMessage {
  sequence: number;
  data: Buffer;
  /** When the server stored it, milliseconds since the Unix epoch. */
  storedAt: number;
  /** Its headers as text; empty without any. */
  headers: string;
}

interface Reply {
  message: { seq: number; time: string; data?: string; hdrs?: string };
}

/**
 * Asks the leader of a stream for the last message on a subject, so that a read sees every earlier write
 * (NATS document "JetStream wire API", `STREAM.MSG.GET`).
 *
 * @param subject wildcards allowed
 * @returns `undefined` when the stream holds none, or does not exist
 * @throws JetStreamError when it was refused, NatsError when no server answers in time
 */
export async function lastMessage(
  bus: Pick<Bus, "nats">,
  stream: string,
  subject: string,
): Promise<LastMessage | undefined> {
  return readMessage(bus, stream, { last_by_subj: subject });
}

/** What of a stream is asked for. */
type Query = { last_by_subj: string } | { seq: number; next_by_subj: string };

/**
 * Asks for one message of a stream.
 *
 * @returns `undefined` when the stream holds none such, or does not exist
 * @throws JetStreamError when it was refused, NatsError when no server answers in time
 */
export async function readMessage(
  bus: Pick<Bus, "nats">,
  stream: string,
  query: Query,
): Promise<LastMessage | undefined> {
  try {
    const { message } = await requestJetStream<Reply>(
      bus,
      `$JS.API.STREAM.MSG.GET.${stream}`,
      JSON.stringify(query),
    );
    if (message === undefined) throw new Error("the reply has no message");
    const { seq, time, data = "", hdrs = "" } = message;
    return {
      sequence: seq,
      data: Buffer.from(data, "base64"),
      storedAt: Date.parse(time),
      headers: Buffer.from(hdrs, "base64").toString("latin1"),
    };
  } catch (thrown) {
    if (isNotFound(thrown)) return undefined;
    throw thrown;
  }
}
