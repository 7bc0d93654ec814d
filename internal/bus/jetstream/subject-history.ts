import type { Bus } from "../connect.ts";
import { type LastMessage, readMessage } from "./last-message.ts";

/**
 * Asks the leader of a stream for what it holds on a subject, oldest first.
 *
 * @param most how many at most
 * @throws JetStreamError when it was refused, NatsError when no server answers in time
 */
export async function subjectHistory(
  bus: Pick<Bus, "nats">,
  stream: string,
  subject: string,
  most: number,
): Promise<LastMessage[]> {
  const found: LastMessage[] = [];
  for (let next = 1; found.length < most; ) {
    const message = await readMessage(bus, stream, { seq: next, next_by_subj: subject });
    if (message === undefined) break;
    found.push(message);
    next = message.sequence + 1;
  }
  return found;
}
