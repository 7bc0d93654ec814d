import { defined } from "../../base/defined.ts";
import type { Bus } from "../connection/mod.ts";
import { requestJetStream } from "./request.ts";

/** What JetStream reports about a consumer that it has just created. */
export interface CreatedConsumer {
  name: string;
  /** RFC 3339, by the clock of the server. */
  created: string;
  /** Number of messages to deliver. */
  num_pending: number;
  /** The server that feeds it, in a cluster. */
  cluster?: { leader?: string };
  /** What it has delivered by now. */
  delivered: { consumer_seq: number; stream_seq?: number };
}

/**
 * Creates a short-lived consumer (NATS document ADR-9). The library creates durable ones.
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
  const options = defined({ timeoutMs });
  const request = JSON.stringify({ stream_name: stream, config });
  return requestJetStream<CreatedConsumer>(bus, `$JS.API.CONSUMER.CREATE.${stream}`, request, options);
}

/** Removes such a consumer before the server does; it does not wait for the reply. */
export function dropConsumer(bus: Pick<Bus, "nats">, stream: string, name: string): void {
  bus.nats.publish(`$JS.API.CONSUMER.DELETE.${stream}.${name}`);
}
