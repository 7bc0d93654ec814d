import type { Clock } from "../../../base/clock.ts";
import { SvcError } from "../../../base/errors.ts";
import type { Directory } from "../store/mod.ts";

const retryAfterMs = 60_000;
/** A record that was stored is in the directory long before; then the place is not counted twice. */
const seenWithinMs = 10_000;

/** The places for pending enrollments: strangers fill them, so there is a last one. */
export interface PendingTable {
  /**
   * Takes a place for a new enrollment of this peel. Give it back when the record is stored or refused.
   *
   * @throws SvcError `unavailable` with a time to come again when there is none
   */
  take(peelId: string): Promise<{
    /** @param stored the id of the record; absent when it was not stored */
    giveBack(stored?: string): void;
  }>;
}

/** Newcomers do not fill the rest of the bucket: decisions are stored there too, and make records longer. */
const openPart = 0.75;
/** More than a new record and its index take: a submission is at most 4 KiB. */
const largestBytes = 8 * 1024;
/** How many enrollments one measurement serves, and for how long, while there is room. */
const measuredFor = { enrollments: 64, ms: 1_000 };

/** What was pending and stored at one moment, and what was admitted since. */
interface Measured {
  held: Promise<{ bytes: number; maxBytes: number } | undefined>;
  /** Including those under way. */
  pending: number;
  underWay: number;
  admitted: number;
  /** On the monotonic clock. */
  at: number;
}

/**
 * @param max how many enrollments may be pending; masters that enroll at the same moment may exceed it by what
 *   each of them has in progress
 */
export function createPendingTable(options: {
  directory: Pick<Directory, "countByState" | "idOf">;
  max: number;
  /** What the bucket of the records holds and may hold, negative for any number; `undefined` when not known. */
  space(): Promise<{ bytes: number; maxBytes: number } | undefined>;
  metrics: { pendingTableFull(): void };
  clock: Clock;
}): PendingTable {
  const { directory, max, space, metrics, clock } = options;
  /** Enrollments that the directory does not know yet: until when they count, by place. */
  const underWay = new Map<symbol, { peelId: string; stored?: string; until: number }>();
  const forgetKnown = () => {
    const now = clock.monotonic();
    for (const [place, { peelId, stored, until }] of underWay) {
      // It was decided about already, or counts as pending.
      const isKnown = stored !== undefined && directory.idOf(peelId) === stored;
      if (isKnown || until <= now) underWay.delete(place);
    }
  };
  let measured: Measured | undefined;
  const measureAgain = (): Measured => {
    const now = clock.monotonic();
    forgetKnown();
    const pending = directory.countByState().pending + underWay.size;
    const fresh: Measured = { held: space(), pending, underWay: underWay.size, admitted: 0, at: now };
    fresh.held.catch(() => {
      if (measured === fresh) measured = undefined;
    });
    measured = fresh;
    return fresh;
  };
  /** What was measured a moment ago, or now. */
  const measure = (): Measured => {
    const isFresh =
      measured !== undefined &&
      measured.admitted < measuredFor.enrollments &&
      clock.monotonic() - measured.at < measuredFor.ms;
    return isFresh && measured !== undefined ? measured : measureAgain();
  };
  const isFull = (now: Measured, held: Awaited<Measured["held"]>): boolean => {
    if (now.pending + now.admitted >= max) return true;
    if (held === undefined || held.maxBytes < 0) return false;
    return held.bytes + (now.underWay + now.admitted + 1) * largestBytes > held.maxBytes * openPart;
  };
  return {
    async take(peelId) {
      // Nothing may happen between the check and the admission.
      let now = measure();
      let held = await now.held;
      if (isFull(now, held)) {
        // An estimate refuses nobody.
        now = measureAgain();
        held = await now.held;
      }
      if (isFull(now, held)) {
        metrics.pendingTableFull();
        throw new SvcError("unavailable", "too many enrollments are pending: try again later", {
          retryAfterMs,
        });
      }
      const place = Symbol(peelId);
      underWay.set(place, { peelId, until: Number.POSITIVE_INFINITY });
      now.admitted++;
      return {
        giveBack(stored) {
          if (stored === undefined) underWay.delete(place);
          else underWay.set(place, { peelId, stored, until: clock.monotonic() + seenWithinMs });
        },
      };
    },
  };
}
