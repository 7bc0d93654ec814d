import {
  ackSubject,
  type Bus,
  parseJobSubject,
  readStream,
  returnSubject,
  type StoredMessage,
  scheduleSubject,
} from "../../bus/mod.ts";
import { decodeReturn, type Job, type JobReturn } from "./record.ts";

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

const malformed: JobReturn = {
  success: false,
  retcode: 1,
  error: "the peel sent a malformed return",
  started_at: "",
  duration_ms: 0,
};

/**
 * Reads a message of the stream `job-events`, or one in transit to it; `undefined` when it is not an event.
 */
export function readEvent({ subject, data, storedAt }: StoredMessage): JobEvent | undefined {
  const parsed = parseJobSubject(subject);
  if (parsed === undefined) return undefined;
  const { jid, kind, peel } = parsed;
  if (kind === "ack") return { jid, peel, at: storedAt };
  if (kind === "return" || kind === "schedule") return { jid, peel, at: storedAt, return: readReturn(data) };
  return undefined;
}

/**
 * Reads everything that is stored about a job: the events of its targets, or the result of a schedule.
 *
 * @param onEvent called with each event and the size of its message in bytes, in any order
 * @throws SvcError `storage`
 */
export async function readEvents(
  bus: Bus,
  { jid, schedule }: Pick<Job, "jid" | "schedule">,
  onEvent: (event: JobEvent, size: number) => void,
): Promise<void> {
  const subjects =
    schedule === undefined ? [ackSubject(jid, "*"), returnSubject(jid, "*")] : [scheduleSubject(jid, "*")];
  // One reader for each: the filter of a consumer must lie within one subject of the stream.
  const read = (subject: string) =>
    readStream(bus, "job-events", subject, (message) => {
      const event = readEvent(message);
      if (event !== undefined) onEvent(event, message.data.length);
    });
  await Promise.all(subjects.map(read));
}

function readReturn(data: Uint8Array): JobReturn {
  try {
    return decodeReturn(data);
  } catch {
    return malformed;
  }
}
