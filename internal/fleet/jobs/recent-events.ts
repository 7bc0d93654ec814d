import type { Clock } from "../../base/clock.ts";
import type { Job } from "./records/mod.ts";

const retainMs = 10_000;
const maxBytes = 16 * 1024 * 1024;
/** The clocks of two masters differ by less while both decide anything. */
const clockMarginMs = 5_000;

/** A message of a peel about a job. */
interface Message {
  subject: string;
  data: Uint8Array;
  storedAt: number;
}

/** What peels said of jobs a moment ago: a job that has just begun is followed without reading them from the bus. */
export interface RecentEvents {
  /** @returns the message */
  retain(message: Message): Message;
  /** All messages of a job; `undefined` where some may be missing. */
  of(job: Pick<Job, "jid" | "createdAt">): Message[] | undefined;
  /** Some messages were missed until now. */
  forget(): void;
}

export function createRecentEvents({ now }: Pick<Clock, "now">): RecentEvents {
  let kept: Message[] = [];
  let head = 0;
  let bytes = 0;
  /** Every message since then is kept. */
  let since = now();
  const drop = () => {
    const oldest = now() - retainMs;
    for (let first = kept[head]; first !== undefined; first = kept[head]) {
      if (bytes <= maxBytes && first.storedAt >= oldest) break;
      bytes -= first.data.length;
      since = first.storedAt + 1;
      head++;
    }
    if (head < 1_024 || head < kept.length / 2) return;
    kept = kept.slice(head);
    head = 0;
  };
  return {
    retain(message) {
      kept.push(message);
      bytes += message.data.length;
      drop();
      return message;
    },
    of({ jid, createdAt }) {
      drop();
      // The master that made the job may have another clock.
      if (createdAt < since + clockMarginMs) return undefined;
      const prefix = `svc.job.${jid}.`;
      return kept.slice(head).filter(({ subject }) => subject.startsWith(prefix));
    },
    forget() {
      kept = [];
      head = 0;
      bytes = 0;
      since = now();
    },
  };
}
