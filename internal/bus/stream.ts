import { NatsError } from "nats";
import type { Bus } from "./connect.ts";

/** Reads the newest message a stream holds for a subject; `undefined` when there is none. */
export async function lastMessage(
  bus: Bus,
  stream: string,
  subject: string,
): Promise<Uint8Array | undefined> {
  const manager = await bus.nats.jetstreamManager({ checkAPI: false });
  try {
    return (await manager.streams.getMessage(stream, { last_by_subj: subject })).data;
  } catch (cause) {
    if (cause instanceof NatsError && cause.api_error?.code === 404) return undefined;
    throw cause;
  }
}
