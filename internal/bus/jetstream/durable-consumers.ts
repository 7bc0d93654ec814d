import type { Bus } from "../connection/mod.ts";
import { requestJetStream } from "./request.ts";

/** How far a durable consumer is. */
export interface DurableConsumer {
  name: string;
  /** Whether it is over with all that its stream holds for it. */
  idle: boolean;
  /** Sequence up to which it is over with everything. */
  over: number;
  /** The messages that it takes. */
  filter: string;
}

interface Reply {
  total: number;
  consumers: {
    name: string;
    config: { durable_name?: string; filter_subject?: string };
    num_pending: number;
    num_ack_pending: number;
    ack_floor: { stream_seq: number };
  }[];
}

/**
 * Lists the durable consumers of a stream.
 *
 * @throws JetStreamError when it was refused, NatsError when no server answers in time
 */
export async function durableConsumers(bus: Pick<Bus, "nats">, stream: string): Promise<DurableConsumer[]> {
  const found: DurableConsumer[] = [];
  for (let seen = 0; ; ) {
    const query = JSON.stringify({ offset: seen });
    const page = await requestJetStream<Reply>(bus, `$JS.API.CONSUMER.LIST.${stream}`, query);
    const { total = 0, consumers } = page;
    for (const { name, config, num_pending, num_ack_pending, ack_floor } of consumers ?? []) {
      if (config.durable_name === undefined) continue;
      found.push({
        name,
        idle: num_pending === 0 && num_ack_pending === 0,
        over: ack_floor.stream_seq,
        filter: config.filter_subject ?? ">",
      });
    }
    seen += consumers?.length ?? 0;
    if (seen >= total || (consumers ?? []).length === 0) return found;
  }
}
