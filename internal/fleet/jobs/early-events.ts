import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { JobNews } from "./events.ts";

/** How long events of unknown jobs are kept. */
const keptMs = 30_000;
/** How much memory the events of one peel may take, and those of all, bytes. */
const maxOfOne = 64 * 1024;
const maxOfAll = 16 * 1024 * 1024;
/** What an event takes at least: its objects and its places in the maps. */
const fixedBytes = 256;

/** Events that arrived before the record of their job: the two travel separately. */
export interface EarlyEvents {
  /** Keeps of an event what a tally needs. @returns whether there was room for it */
  retain(event: JobNews): boolean;
  /** Removes the events of a job. */
  take(jid: string): JobNews[];
  /** What all kept events take, bytes. */
  readonly bytes: number;
}

interface Kept {
  at: number;
  events: JobNews[];
}

/**
 * Any peel may send anything for jobs that do not exist. Of each event only its outcome and success are
 * kept, and each peel has its own share of the room, so that one peel does not take the room of others.
 */
export function createEarlyEvents(clock: Pick<Clock, "monotonic">): EarlyEvents {
  const kept = new Map<string, Kept>();
  const byPeel = new Map<string, number>();
  let bytes = 0;
  const release = (jid: string): JobNews[] => {
    const events = kept.get(jid)?.events ?? [];
    kept.delete(jid);
    for (const event of events) {
      bytes -= sizeOf(event);
      const left = (byPeel.get(event.peel) ?? 0) - sizeOf(event);
      if (left > 0) byPeel.set(event.peel, left);
      else byPeel.delete(event.peel);
    }
    return events;
  };
  return {
    retain(event) {
      const now = clock.monotonic();
      for (const [jid, { at }] of kept) {
        if (now - at < keptMs) break;
        release(jid);
      }
      const size = sizeOf(event);
      const ofPeel = (byPeel.get(event.peel) ?? 0) + size;
      if (ofPeel > maxOfOne || bytes + size > maxOfAll) return false;
      const small = essenceOf(event);
      const known = kept.get(event.jid);
      if (known === undefined) kept.set(small.jid, { at: now, events: [small] });
      else known.events.push(small);
      byPeel.set(small.peel, ofPeel);
      bytes += size;
      return true;
    },
    take: release,
    get bytes() {
      return bytes;
    },
  };
}

function sizeOf({ jid, peel }: JobNews): number {
  return fixedBytes + jid.length + peel.length;
}

/** Outcome and success alone. The texts are copied: parts of a subject would keep all of it in memory. */
function essenceOf({ jid, peel, at, return: returned }: JobNews): JobNews {
  const small = { jid: copy(jid), peel: copy(peel), at };
  if (returned === undefined) return small;
  const { success, outcome } = returned;
  return { ...small, return: { success, ...defined({ outcome }) } };
}

function copy(text: string): string {
  return Buffer.from(text).toString();
}
