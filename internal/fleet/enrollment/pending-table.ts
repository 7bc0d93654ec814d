import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Directory } from "./directory.ts";

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
  take(peelId: string): { giveBack(stored: boolean): void };
}

/**
 * @param max how many enrollments may be pending; masters that enroll at the same moment may exceed it by what
 *   each of them has in progress
 */
export function createPendingTable(options: {
  directory: Pick<Directory, "countByState" | "stateOf">;
  max: number;
  metrics: { pendingTableFull(): void };
  clock: Clock;
}): PendingTable {
  const { directory, max, metrics, clock } = options;
  /** Enrollments that the directory does not know yet: until when they count, by place. */
  const underWay = new Map<symbol, { peelId: string; until: number }>();
  const forgetKnown = () => {
    const now = clock.monotonic();
    for (const [place, { peelId, until }] of underWay) {
      // Only what was stored has an end.
      const isKnown = until < Number.POSITIVE_INFINITY && directory.stateOf(peelId) === "pending";
      if (isKnown || until <= now) underWay.delete(place);
    }
  };
  return {
    take(peelId) {
      forgetKnown();
      if (directory.countByState().pending + underWay.size >= max) {
        metrics.pendingTableFull();
        throw new SvcError("unavailable", "too many enrollments are pending: try again later", {
          retryAfterMs,
        });
      }
      const place = Symbol(peelId);
      underWay.set(place, { peelId, until: Number.POSITIVE_INFINITY });
      return {
        giveBack(stored) {
          if (stored) underWay.set(place, { peelId, until: clock.monotonic() + seenWithinMs });
          else underWay.delete(place);
        },
      };
    },
  };
}
