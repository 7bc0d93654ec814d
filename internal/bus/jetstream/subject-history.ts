import type { Bus } from "../connection/mod.ts";
import { type GotMessage, getMessage } from "./get-message.ts";
import { isNotFound } from "./request.ts";

/**
 * Asks the leader of a stream for what it holds on a subject, oldest first.
 *
 * @param max how many at most
 * @throws JetStreamError when it was refused, NatsError when no server answers in time
 */
export async function subjectHistory(
  bus: Pick<Bus, "nats">,
  stream: string,
  subject: string,
  max: number,
): Promise<GotMessage[]> {
  const found: GotMessage[] = [];
  for (let next = 1; found.length < max; ) {
    try {
      const message = await getMessage(bus, stream, { seq: next, next_by_subj: subject });
      found.push(message);
      next = message.sequence + 1;
    } catch (thrown) {
      if (isNotFound(thrown)) break;
      throw thrown;
    }
  }
  return found;
}
