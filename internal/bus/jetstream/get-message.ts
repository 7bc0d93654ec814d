import { defined } from "../../base/defined.ts";
import type { Bus } from "../connection/mod.ts";
import { requestJetStream } from "./request.ts";

/** A message of a stream. */
export interface GotMessage {
  subject: string;
  sequence: number;
  data: Buffer;
  /** When the server stored it, milliseconds since the Unix epoch. */
  storedAt: number;
  /** Its headers as text; empty without any. */
  headers: string;
}

interface Reply {
  message: { subject?: string; seq: number; time: string; data?: string; hdrs?: string };
}

/**
 * Asks the leader of a stream for one message, so that a read sees every earlier write (NATS document
 * "JetStream wire API", `STREAM.MSG.GET`).
 *
 * @param query which one, as the server takes it
 * @throws JetStreamError when there is none, or it was refused; NatsError when no server answers in time
 */
export async function getMessage(
  bus: Pick<Bus, "nats">,
  stream: string,
  query: Readonly<Record<string, unknown>>,
  timeoutMs?: number,
): Promise<GotMessage> {
  const api = `$JS.API.STREAM.MSG.GET.${stream}`;
  const options = defined({ timeoutMs });
  const { message } = await requestJetStream<Reply>(bus, api, JSON.stringify(query), options);
  if (message === undefined) throw new Error("the reply has no message");
  const { subject = "", seq, time, data = "", hdrs = "" } = message;
  return {
    subject,
    sequence: seq,
    data: Buffer.from(data, "base64"),
    storedAt: Date.parse(time),
    headers: Buffer.from(hdrs, "base64").toString("latin1"),
  };
}
