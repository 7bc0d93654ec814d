import { defined } from "../../base/defined.ts";
import type { Bus } from "../connection/mod.ts";
import { requestJetStream } from "./request.ts";

/** A stream as JetStream lists it. */
export interface ListedStream {
  name: string;
  onDisk: boolean;
  bytes: number;
  /** -1 without a limit. */
  maxBytes: number;
  /** Whether it refuses what is new when it is full. */
  refuses: boolean;
  replicas: number;
  /** How many messages of a subject it keeps; -1 for all. */
  perSubject: number;
  /** Whether its servers have a leader. */
  hasLeader: boolean;
}

interface Reply {
  total: number;
  streams: {
    config: {
      name: string;
      storage: string;
      max_bytes: number;
      discard?: string;
      num_replicas?: number;
      max_msgs_per_subject?: number;
    };
    state: { bytes: number };
    /** Absent on a single server. */
    cluster?: { leader?: string };
  }[];
}

/**
 * Lists the streams of the account. Those without a leader are missing, or the request is not answered, until servers
 * that have restarted know each other.
 *
 * @throws JetStreamError when it was refused, NatsError when no server answers in time
 */
export async function listStreams(bus: Pick<Bus, "nats">, timeoutMs?: number): Promise<ListedStream[]> {
  const found: ListedStream[] = [];
  for (;;) {
    const query = JSON.stringify({ offset: found.length });
    const options = defined({ timeoutMs });
    const { total = 0, streams } = await requestJetStream<Reply>(bus, "$JS.API.STREAM.LIST", query, options);
    for (const { config, state, cluster } of streams ?? []) {
      found.push({
        name: config.name,
        onDisk: config.storage === "file",
        bytes: state.bytes,
        maxBytes: config.max_bytes,
        refuses: config.discard === "new",
        replicas: config.num_replicas ?? 1,
        perSubject: config.max_msgs_per_subject ?? -1,
        hasLeader: cluster === undefined || (cluster.leader ?? "") !== "",
      });
    }
    if (found.length >= total || (streams ?? []).length === 0) return found;
  }
}
