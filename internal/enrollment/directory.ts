import { toSvcError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Bucket, Change } from "../bus/bucket.ts";
import {
  decodeRecord,
  type Enrollment,
  type EnrollmentState,
  type EnrollmentSummary,
  enrollmentStates,
  summarize,
} from "./record.ts";
import { counts, decodeIndex, parseKey } from "./store.ts";
import { memberStates } from "./transition.ts";

/** What a master knows of all enrollments, kept current by one watch: lists and streams read it. */
export interface Directory {
  /** Resolves when the first reading of the bucket is complete. */
  readonly ready: Promise<void>;
  /** Resolves when everything that is stored now has been seen, so that a list follows every write. */
  caughtUp(): Promise<void>;
  /** Summaries in this state (or all), newest first, after the given id; at most `limit`. */
  list(query: { state: EnrollmentState | "all"; limit: number; after?: string }): EnrollmentSummary[];
  /** State of the enrollment that the index of this peel points at. */
  stateOf(peelId: string): EnrollmentState | undefined;
  /** How many enrollments that count are in each state. */
  countByState(): Record<EnrollmentState, number>;
  /** Peel ids of the fleet's members, in the encoded form: `issued` and `active`. */
  members(): string[];
  /** Calls `run` with each new state of this enrollment; returns the way to stop. */
  subscribe(id: string, run: (state: EnrollmentState) => void): () => void;
  stop(): void;
}

type Known = EnrollmentSummary & { revision: number };

/** Starts following the bucket `enrollments`. */
export function createDirectory({ enrollments, log }: { enrollments: Bucket; log: Log }): Directory {
  const known = new Map<string, Known>();
  const index = new Map<string, string>();
  const subscribers = new Map<string, Set<(state: EnrollmentState) => void>>();
  /** Ids in ascending order: they begin with the second they were made in. */
  const order: string[] = [];
  const applyRecord = (change: Change) => {
    const before = known.get(change.key);
    if (before !== undefined && before.revision >= change.revision) return;
    if (change.value === undefined) {
      known.delete(change.key);
      const at = position(order, change.key);
      if (order[at] === change.key) order.splice(at, 1);
      return;
    }
    const record: Enrollment = decodeRecord(change.value);
    known.set(change.key, { ...summarize(record), revision: change.revision });
    if (before === undefined) order.splice(position(order, change.key), 0, change.key);
    if (before?.state !== record.state) {
      for (const run of subscribers.get(record.id) ?? []) run(record.state);
    }
  };

  const watch = enrollments.watch((change) => {
    try {
      const key = parseKey(change.key);
      if ("id" in key) return applyRecord(change);
      if (change.value === undefined) index.delete(key.peelId);
      else index.set(key.peelId, decodeIndex({ key: change.key, value: change.value }));
    } catch (cause) {
      log.error("a stored enrollment cannot be read", { key: change.key, error: toSvcError(cause) });
    }
  });

  const visible = (id: string | undefined): Known | undefined => {
    const summary = id === undefined ? undefined : known.get(id);
    return summary !== undefined && counts(summary, index.get(summary.peel_id)) ? summary : undefined;
  };

  return {
    ready: watch.ready,
    caughtUp: () => watch.caughtUp(),
    list({ state, limit, after }) {
      const found: EnrollmentSummary[] = [];
      const from = after === undefined ? order.length : position(order, after);
      for (let at = from - 1; at >= 0 && found.length < limit; at--) {
        const summary = visible(order[at]);
        if (summary === undefined || (state !== "all" && summary.state !== state)) continue;
        const { revision: _, ...shown } = summary;
        found.push(shown);
      }
      return found;
    },
    stateOf: (peelId) => known.get(index.get(peelId) ?? "")?.state,
    countByState() {
      const found = Object.fromEntries(enrollmentStates.map((state) => [state, 0])) as Record<
        EnrollmentState,
        number
      >;
      for (const id of order) {
        const summary = visible(id);
        if (summary !== undefined) found[summary.state]++;
      }
      return found;
    },
    members() {
      const ids: string[] = [];
      for (const [peelId, id] of index) {
        const state = known.get(id)?.state;
        if (state !== undefined && memberStates.has(state)) ids.push(peelId);
      }
      return ids.sort();
    },
    subscribe(id, run) {
      const set = subscribers.get(id) ?? new Set();
      subscribers.set(id, set.add(run));
      return () => {
        set.delete(run);
        if (set.size === 0) subscribers.delete(id);
      };
    },
    stop: () => watch.stop(),
  };
}

/** Where `id` stands, or would stand, in an ascending list. */
function position(order: readonly string[], id: string): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((order[middle] ?? "") < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
