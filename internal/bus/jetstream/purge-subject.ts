import type { Bus } from "../connection/mod.ts";
import { requestJetStream } from "./request.ts";

/**
 * Removes all messages of a subject from a stream but the last one.
 *
 * @throws JetStreamError when it was refused, NatsError when no server answers in time
 */
export async function purgeSubject(bus: Pick<Bus, "nats">, stream: string, subject: string): Promise<void> {
  const query = JSON.stringify({ filter: subject, keep: 1 });
  await requestJetStream(bus, `$JS.API.STREAM.PURGE.${stream}`, query);
}
