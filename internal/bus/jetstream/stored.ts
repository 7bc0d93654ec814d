import { NatsError } from "nats";
import { SvcError } from "../../base/errors.ts";
import { errorCodes, JetStreamError } from "./request.ts";
import { readAcknowledgement } from "./store-message.ts";

/** The error of the client for a message that is larger than the server accepts. */
const payloadTooLarge = "MAX_PAYLOAD_EXCEEDED";

/** The bus refused to store a message. */
class NotStored extends SvcError {
  readonly errorCode: number | undefined;

  constructor({ message, errorCode }: JetStreamError) {
    super("unavailable", `the bus did not store it: ${message}`);
    this.errorCode = errorCode;
  }
}

/** Whether a message was refused because of its size: sending it again does not help. */
export function isTooLarge(thrown: unknown): boolean {
  if (thrown instanceof NotStored) return thrown.errorCode === errorCodes.messageTooLarge;
  return thrown instanceof Error && "code" in thrown && thrown.code === payloadTooLarge;
}

/**
 * Reads the reply of JetStream to a message to store.
 *
 * @returns the sequence of the message in its stream
 * @throws SvcError `unavailable` with the reason when it was not stored
 */
export function assertStored(answer: Uint8Array): number {
  try {
    return readAcknowledgement(answer);
  } catch (thrown) {
    throw notStored(thrown);
  }
}

/** Why a message was not stored. */
export function notStored(thrown: unknown): SvcError {
  if (thrown instanceof JetStreamError) return new NotStored(thrown);
  if (thrown instanceof NatsError) {
    return new SvcError("unavailable", "the bus does not answer: is it up?", { cause: thrown });
  }
  return new SvcError("unavailable", "the acknowledgement of the bus cannot be read");
}
