import type { Bus } from "../connect.ts";
import { requestJetStream } from "./request.ts";

/** What a stream holds. */
export interface StreamState {
  bytes: number;
  messages: number;
  /** Sequence of the oldest message; 0 in a stream that never held one. */
  firstSequence: number;
  lastSequence: number;
}

interface Reply {
  state: { bytes: number; messages: number; first_seq: number; last_seq: number };
}

/**
 * Asks what a stream holds.
 *
 * @throws JetStreamError when there is no such stream, NatsError when no server answers in time
 */
export async function streamState(
  bus: Pick<Bus, "nats">,
  stream: string,
  timeoutMs?: number,
): Promise<StreamState> {
  const options = timeoutMs === undefined ? {} : { timeoutMs };
  const { state } = await requestJetStream<Reply>(bus, `$JS.API.STREAM.INFO.${stream}`, "", options);
  if (state === undefined) throw new Error("the reply has no state");
  const { bytes, messages, first_seq: firstSequence, last_seq: lastSequence } = state;
  return { bytes, messages, firstSequence, lastSequence };
}
