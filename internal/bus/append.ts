import { SvcError } from "../base/errors.ts";
import type { Bus } from "./connect.ts";
import { lastMessage } from "./jetstream/last-message.ts";
import { JetStreamError } from "./jetstream/request.ts";
import { storeMessage } from "./jetstream/store-message.ts";
import { notStored } from "./stored.ts";

/** What makes storing a message again harmless. */
export interface AppendOnce {
  /** The stream takes one message of this id within two minutes. */
  id?: string;
  /** Place of the message that must be the last on this subject; 0 for none. */
  after?: number;
}

/**
 * Stores a message in the stream that captures its subject.
 *
 * @returns whether the stream has it now, also from an earlier time; `false` when another is the last on the
 *   subject
 * @throws SvcError `unavailable` when it was refused or nobody answered
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
      throw new SvcError("unavailable", `the stream ${stream} cannot be read: ${cause.message}`);
    }
    throw new SvcError("unavailable", "the bus does not answer: is it up?", { cause });
  }
}
