import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../connection/mod.ts";
import { JetStreamError, lastMessage, notStored, storageError, storeMessage } from "../jetstream/mod.ts";

/** What makes it safe to store a message again. */
export interface AppendOnce {
  /** The stream stores only one message with this ID within two minutes. */
  id?: string;
  /** Sequence of the message that must be the last on this subject; 0 for none. */
  after?: number;
}

/**
 * Stores a message in the stream that captures its subject.
 *
 * @returns whether the stream holds it now, even from an earlier call; `false` when another message is the
 * last on the subject
 * @throws SvcError `unavailable` when it was refused or no server answered
 */
export async function append(
  bus: Bus,
  subject: string,
  data: Uint8Array,
  { id, after }: AppendOnce,
): Promise<boolean> {
  try {
    return (await storeMessage(bus, subject, data, { id, lastOnSubject: after })) !== undefined;
  } catch (thrown) {
    throw notStored(thrown);
  }
}

/** What became of a message that had to be the next one of its stream. */
type Appended = "stored" | "overtaken";

/**
 * Stores a message as the next one of its stream, or not at all. Several may be under way: what follows a message that
 * is not stored is not stored either, because it names the ID of that message.
 *
 * @param next.id names the message; the stream stores it once within two minutes
 * @param next.after the sequence of the message before it; 0 for none
 * @param next.afterId the ID of that message, when it may not be stored yet
 * @returns `overtaken` when another message is the last of the stream
 * @throws SvcError `storage` when it was refused or no server answered in time
 */
export async function appendNext(
  bus: Pick<Bus, "nats">,
  stream: string,
  subject: string,
  data: Uint8Array,
  next: { id: string; after: number; afterId?: string; timeoutMs: number },
): Promise<Appended> {
  const { id, after, afterId, timeoutMs } = next;
  try {
    const options = { id, lastInStream: after, lastId: afterId, timeoutMs };
    return (await storeMessage(bus, subject, data, options)) === after + 1 ? "stored" : "overtaken";
  } catch (thrown) {
    throw storageError(`the stream ${stream}`, thrown);
  }
}

/**
 * The last message that a stream holds on a subject.
 *
 * @throws SvcError `unavailable`
 */
export async function lastOn(
  bus: Bus,
  stream: string,
  subject: string,
): Promise<{ sequence: number; data: Uint8Array } | undefined> {
  try {
    return await lastMessage(bus, stream, subject);
  } catch (cause) {
    if (cause instanceof JetStreamError) {
      throw new SvcError("unavailable", `cannot read the stream ${stream}: ${cause.message}`);
    }
    throw new SvcError("unavailable", "the bus does not answer: is it up?", { cause });
  }
}
