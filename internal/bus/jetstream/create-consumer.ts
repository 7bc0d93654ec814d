import type { Bus } from "../connect.ts";
import { requestJetStream } from "./request.ts";

/** What JetStream says of a consumer that it has just made. */
export interface CreatedConsumer {
  name: string;
  /** RFC 3339, by the clock of the server. */
  created: string;
  /** How many messages it is going to deliver. */
  num_pending: number;
  /** What it has delivered by now. */
  delivered: { consumer_seq: number; stream_seq?: number };
}

/**
 * Makes a consumer that lives only for a moment (NATS document ADR-9). Durable ones are the library's.
 *
 * @param config as the server takes it
 * @throws JetStreamError when it was refused, NatsError when no server answers in time
 */
export function createConsumer(
  bus: Pick<Bus, "nats">,
  stream: string,
  config: Readonly<Record<string, unknown>>,
  timeoutMs?: number,
): Promise<Partial<CreatedConsumer>> {
  const options = timeoutMs === undefined ? {} : { timeoutMs };
  const request = JSON.stringify({ stream_name: stream, config });
  return requestJetStream<CreatedConsumer>(bus, `$JS.API.CONSUMER.CREATE.${stream}`, request, options);
}

/** Removes such a consumer before the server does it by itself; nobody waits for the answer. */
export function dropConsumer(bus: Pick<Bus, "nats">, stream: string, name: string): void {
  bus.nats.publish(`$JS.API.CONSUMER.DELETE.${stream}.${name}`);
}
