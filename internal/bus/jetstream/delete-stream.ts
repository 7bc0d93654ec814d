import { ErrorCode, NatsError } from "nats";
import type { Bus } from "../connection/mod.ts";
import { isNotFound, requestJetStream } from "./request.ts";

/**
 * Has the servers forget a stream and what it holds. Of one without a leader nobody confirms it.
 *
 * @throws JetStreamError when it was refused, NatsError when the bus is away
 */
export async function deleteStream(bus: Pick<Bus, "nats">, name: string, timeoutMs: number): Promise<void> {
  try {
    await requestJetStream(bus, `$JS.API.STREAM.DELETE.${name}`, "", { timeoutMs });
  } catch (thrown) {
    const isUnconfirmed = thrown instanceof NatsError && thrown.code === ErrorCode.Timeout;
    if (!isUnconfirmed && !isNotFound(thrown)) throw thrown;
  }
}
