import type { Clock } from "../../base/clock.ts";
import type { JobEvent } from "./events.ts";

/** How long events of unknown jobs are kept, and for how many jobs. */
const keptMs = 30_000;
const mostJobs = 10_000;
const mostPerJob = 10_000;

/** Events that arrived before the record of their job: the two travel separately. */
export interface EarlyEvents {
  keep(event: JobEvent): void;
  /** Removes the events of a job. */
  take(jid: string): JobEvent[];
}

export function createEarlyEvents(clock: Pick<Clock, "monotonic">): EarlyEvents {
  const kept = new Map<string, { at: number; events: JobEvent[] }>();
  return {
    keep(event) {
      const now = clock.monotonic();
      for (const [jid, { at }] of kept) {
        if (now - at < keptMs && kept.size <= mostJobs) break;
        kept.delete(jid);
      }
      const known = kept.get(event.jid) ?? { at: now, events: [] };
      if (known.events.length < mostPerJob) known.events.push(event);
      kept.set(event.jid, known);
    },
    take(jid) {
      const events = kept.get(jid)?.events ?? [];
      kept.delete(jid);
      return events;
    },
  };
}
