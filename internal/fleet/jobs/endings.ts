import type { Job, Settled } from "./records/mod.ts";

/** How jobs ended, by the revision of the record that says it first. */
export interface Endings {
  /** Takes a record with its revision. @param isNews whether the job was not known to have ended before */
  note(job: Pick<Job, "settled" | "forbidden">, revision: number, isNews: boolean): void;
  /**
   * How many jobs have ended since a revision, by status; none without one.
   *
   * @returns also the newest revision that is known
   */
  since(revision: number | undefined): { ended: Readonly<Record<EndedStatus, number>>; seen: number };
}

type EndedStatus = Settled["status"];

/** More than end in the minutes between two questions; the oldest are forgotten. */
const maxKept = 32_768;

/** Keeps the newest endings: what is asked is how many there were since a moment ago. */
export function createEndings(): Endings {
  let kept: { revision: number; status: EndedStatus }[] = [];
  let newest = 0;
  return {
    note({ settled, forbidden }, revision, isNews) {
      newest = Math.max(newest, revision);
      if (settled === undefined || forbidden === true || !isNews) return;
      kept.push({ revision, status: settled.status });
      if (kept.length > 2 * maxKept) kept = kept.slice(-maxKept);
    },
    since(revision = newest) {
      const ended: Record<EndedStatus, number> = { completed: 0, failed: 0, cancelled: 0 };
      // The newest are the last ones: a question costs as much as has happened since.
      for (let at = kept.length - 1; at >= 0; at--) {
        const one = kept[at];
        if (one === undefined || one.revision <= revision) break;
        ended[one.status]++;
      }
      return { ended, seen: newest };
    },
  };
}
