import { SvcError } from "../base/errors.ts";

/** Error code of JetStream for a message that is larger than its stream takes. */
const messageTooLarge = 10054;
/** What the client says of a message that is larger than the server takes. */
const payloadTooLarge = "MAX_PAYLOAD_EXCEEDED";

/** The bus refused to store a message. */
class NotStored extends SvcError {
  readonly code: unknown;

  constructor(error: unknown) {
    super("unavailable", `the bus did not store it: ${descriptionOf(error)}`);
    this.code =
      typeof error === "object" && error !== null && "err_code" in error ? error.err_code : undefined;
  }
}

/** Whether a message was refused for its size: sending it again does not cure that. */
export function isTooLarge(thrown: unknown): boolean {
  if (thrown instanceof NotStored) return thrown.code === messageTooLarge;
  return thrown instanceof Error && "code" in thrown && thrown.code === payloadTooLarge;
}

/**
 * Reads what JetStream answers to a message that it was to store: JSON with `seq`, or with `error` when the
 * message was not stored (NATS, JetStream publish acknowledgement).
 *
 * @throws SvcError `unavailable` with the reason when it was not stored
 */
export function assertStored(answer: Uint8Array): void {
  let ack: unknown;
  try {
    ack = JSON.parse(new TextDecoder().decode(answer));
  } catch {
    throw new SvcError("unavailable", "the bus gave no acknowledgement that can be read");
  }
  if (typeof ack !== "object" || ack === null)
    throw new SvcError("unavailable", "the bus gave no acknowledgement");
  if ("error" in ack) throw new NotStored(ack.error);
  if (!("seq" in ack) || typeof ack.seq !== "number") {
    throw new SvcError("unavailable", "the bus gave an acknowledgement without a sequence number");
  }
}

function descriptionOf(error: unknown): string {
  const known = typeof error === "object" && error !== null && "description" in error;
  return known ? String(error.description).slice(0, 200) : "no reason given";
}
