import type { Bus } from "../connection/mod.ts";
import { errorCodes, JetStreamError, requestJetStream } from "./request.ts";

const gone: ReadonlySet<number | undefined> = new Set([
  errorCodes.noMessageFound,
  errorCodes.sequenceNotFound,
  errorCodes.messageDeleteFailed,
]);

/**
 * Removes the message with this sequence from a stream. A missing message is not an error.
 *
 * @throws JetStreamError when it was refused, NatsError when no server answers in time
 */
export async function deleteMessage(bus: Pick<Bus, "nats">, stream: string, sequence: number): Promise<void> {
  const query = JSON.stringify({ seq: sequence, no_erase: true });
  try {
    const subject = `$JS.API.STREAM.MSG.DELETE.${stream}`;
    const { success } = await requestJetStream<{ success: boolean }>(bus, subject, query);
    if (success !== true) throw new Error("the message was not removed");
  } catch (thrown) {
    if (thrown instanceof JetStreamError && gone.has(thrown.errorCode)) return;
    throw thrown;
  }
}
