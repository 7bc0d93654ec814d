import type { Bus } from "../connection/mod.ts";
import { type GotMessage, getMessage } from "./get-message.ts";
import { isNotFound } from "./request.ts";

/**
 * The last message that a stream holds on a subject.
 *
 * @param subject wildcards allowed
 * @returns `undefined` when the stream holds none, or does not exist
 * @throws JetStreamError when it was refused, NatsError when no server answers in time
 */
export async function lastMessage(
  bus: Pick<Bus, "nats">,
  stream: string,
  subject: string,
  timeoutMs?: number,
): Promise<GotMessage | undefined> {
  try {
    return await getMessage(bus, stream, { last_by_subj: subject }, timeoutMs);
  } catch (thrown) {
    if (isNotFound(thrown)) return undefined;
    throw thrown;
  }
}
