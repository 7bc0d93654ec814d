import { defined } from "../../base/defined.ts";
import type { Bus } from "../connection/mod.ts";
import { requestJetStream } from "./request.ts";

/** What a stream holds. */
export interface StreamState {
  bytes: number;
  messages: number;
  /** Sequence of the oldest message; 0 in a stream that never held one. */
  firstSequence: number;
  lastSequence: number;
  /** How many bytes it may hold; -1 for any number. */
  maxBytes: number;
  /** Whether it refuses what is new when it is full. */
  refuses: boolean;
  replicas: number;
  /** Whether it has a leader. A server that is alone answers with its own copy, which may be old. */
  hasLeader: boolean;
}

interface Reply {
  /** Absent on a single server. */
  cluster?: { leader?: string };
  config: { max_bytes: number; discard?: string; num_replicas?: number };
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
  const options = defined({ timeoutMs });
  const reply = await requestJetStream<Reply>(bus, `$JS.API.STREAM.INFO.${stream}`, "", options);
  const { cluster, config, state } = reply;
  if (state === undefined) throw new Error("the reply has no state");
  return {
    bytes: state.bytes,
    messages: state.messages,
    firstSequence: state.first_seq,
    lastSequence: state.last_seq,
    maxBytes: config?.max_bytes ?? -1,
    refuses: config?.discard === "new",
    replicas: config?.num_replicas ?? 1,
    hasLeader: cluster === undefined || (cluster.leader ?? "") !== "",
  };
}
