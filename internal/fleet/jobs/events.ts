import { MessageTooLarge } from "../../base/msgpack.ts";
import { parseJobSubject, type StoredMessage } from "../../bus/mod.ts";
import { decodeReturn, type JobReturn } from "./record.ts";

/** The ack or the return of a peel for a job. */
export interface JobEvent {
  jid: string;
  /** Encoded peel ID from the subject; claims in the message are ignored. */
  peel: string;
  /** When it was stored or received; milliseconds since the Unix epoch. */
  at: number;
  /** Absent for an acknowledgement. */
  return?: JobReturn;
}

const unreadable = { success: false, retcode: 1, started_at: "", duration_ms: 0 } as const;
const malformed: JobReturn = { ...unreadable, error: "the peel sent a malformed return" };
const tooLarge: JobReturn = { ...unreadable, error: "return too large" };

/** An acknowledgement says nothing but that it came. */
const maxAckBytes = 4096;

/**
 * Reads a message of the stream `job-events`, or one in transit to it; `undefined` when it is not an event.
 */
export function readEvent({ subject, data, storedAt }: StoredMessage): JobEvent | undefined {
  const parsed = parseJobSubject(subject);
  if (parsed === undefined) return undefined;
  const { jid, kind, peel } = parsed;
  if (kind === "ack") return data.length > maxAckBytes ? undefined : { jid, peel, at: storedAt };
  if (kind === "return" || kind === "schedule") return { jid, peel, at: storedAt, return: readReturn(data) };
  return undefined;
}

function readReturn(data: Uint8Array): JobReturn {
  try {
    return decodeReturn(data);
  } catch (thrown) {
    return thrown instanceof MessageTooLarge ? tooLarge : malformed;
  }
}
