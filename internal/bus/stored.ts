import { SvcError } from "../base/errors.ts";

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
  if (typeof ack !== "object" || ack === null) throw new SvcError("unavailable", "the bus gave no acknowledgement");
  if ("error" in ack) throw new SvcError("unavailable", `the bus did not store it: ${descriptionOf(ack.error)}`);
  if (!("seq" in ack) || typeof ack.seq !== "number") {
    throw new SvcError("unavailable", "the bus gave an acknowledgement without a sequence number");
  }
}

function descriptionOf(error: unknown): string {
  const known = typeof error === "object" && error !== null && "description" in error;
  return known ? String(error.description).slice(0, 200) : "no reason given";
}
