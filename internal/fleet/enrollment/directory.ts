import { SvcError, toSvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket, Change } from "../../bus/bucket.ts";
import {
  decodeSummary,
  type EnrollmentState,
  type EnrollmentSummary,
  enrollmentStates,
  type KnownEnrollment,
} from "./record.ts";
import { createSortedIds } from "./sorted-ids.ts";
import { counts, decodeIndex, parseKey } from "./store.ts";
import { memberStates } from "./transition.ts";

/** What a master knows of all enrollments, kept current by one watch: lists and streams read it. */
export interface Directory {
  /** Resolves when the first reading of the bucket is complete. */
  readonly ready: Promise<void>;
  /** Resolves when everything that is stored now has been seen, so that a list follows every write. */
  caughtUp(): Promise<void>;
  /**
   * Summaries in this state (or all), newest first, after the given id; at most `limit`.
   *
   * @throws SvcError `bad_request` when that id is not known
   */
  list(query: { state: EnrollmentState | "all"; limit: number; after?: string }): EnrollmentSummary[];
  /** State of the enrollment that the index of this peel points at. */
  stateOf(peelId: string): EnrollmentState | undefined;
  /** How many enrollments that count are in each state. */
  countByState(): Record<EnrollmentState, number>;
  /** When the credentials of the members end: the first that are good at `now`, and how many are not. */
  credentials(now: number): { soonestExpiry?: number; expired: number };
  /**
   * Peel ids of the fleet's members, `issued` and `active`, in the encoded form and in order; the same
   * list until something changes.
   */
  members(): readonly string[];
  /** Calls `run` with each peel that becomes a member, or is none any more; returns the way to stop. */
  onMember(run: (peelId: string) => void): () => void;
  /** Live records that no index points at: being written at this moment, or orphans. */
  unindexed(): Unindexed[];
  /** Calls `run` with each new state of this enrollment; returns the way to stop. */
  subscribe(id: string, run: (state: EnrollmentState) => void): () => void;
  stop(): void;
}

/** A live record without an index. */
export interface Unindexed {
  id: string;
  peelId: string;
  revision: number;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
}

type Known = KnownEnrollment & { revision: number };

/** Starts following the bucket `enrollments`. */
export function createDirectory({ enrollments, log }: { enrollments: Bucket; log: Log }): Directory {
  const known = new Map<string, Known>();
  const index = new Map<string, string>();
  const subscribers = new Map<string, Set<(state: EnrollmentState) => void>>();
  /** Ids by the time of their creation: an id alone only tells the second. */
  const order: Known[] = [];
  /** Ids of live records whose index was not seen yet; nearly always empty. */
  const loose = new Set<string>();
  const members = createSortedIds();
  const memberListeners = new Set<(peelId: string) => void>();
  const judgeMember = (peelId: string) => {
    const state = known.get(index.get(peelId) ?? "")?.state;
    const isMember = state !== undefined && memberStates.has(state);
    if (isMember === members.has(peelId)) return;
    if (isMember) members.add(peelId);
    else members.delete(peelId);
    for (const run of memberListeners) run(peelId);
  };
  const judge = (id: string | undefined) => {
    const summary = id === undefined ? undefined : known.get(id);
    if (summary === undefined) return;
    if (counts(summary, index.get(summary.peel_id))) loose.delete(summary.id);
    else loose.add(summary.id);
  };
  const applyRecord = (change: Change) => {
    const before = known.get(change.key);
    if (before !== undefined && before.revision >= change.revision) return;
    if (before !== undefined) order.splice(position(order, before), 1);
    if (change.value === undefined) {
      known.delete(change.key);
      loose.delete(change.key);
      if (before !== undefined) judgeMember(before.peel_id);
      return;
    }
    const record = decodeSummary(change.value);
    // Strings that stay are shared and are none of the message's: a part of a text keeps all of it.
    const now = { ...record, id: before?.id ?? record.id, revision: change.revision };
    known.set(now.id, now);
    order.splice(position(order, now), 0, now);
    judge(record.id);
    judgeMember(now.peel_id);
    if (before?.state !== record.state) {
      for (const run of subscribers.get(record.id) ?? []) run(record.state);
    }
  };

  const watch = enrollments.watch((change) => {
    try {
      const key = parseKey(change.key);
      if ("id" in key) return applyRecord(change);
      const before = index.get(key.peelId);
      if (change.value === undefined) index.delete(key.peelId);
      else {
        const id = decodeIndex({ key: change.key, value: change.value });
        const summary = known.get(id);
        index.set(summary?.peel_id ?? key.peelId, summary?.id ?? id);
      }
      judge(before);
      judge(index.get(key.peelId));
      judgeMember(key.peelId);
    } catch (cause) {
      log.error("a stored enrollment cannot be read", { key: change.key, error: toSvcError(cause) });
    }
  });

  const visible = (summary: Known): boolean => counts(summary, index.get(summary.peel_id));

  return {
    ready: watch.ready,
    caughtUp: () => watch.caughtUp(),
    list({ state, limit, after }) {
      const found: EnrollmentSummary[] = [];
      const last = after === undefined ? undefined : known.get(after);
      if (after !== undefined && last === undefined) {
        throw new SvcError("bad_request", "cursor must be the one that the page before named");
      }
      const from = last === undefined ? order.length : position(order, last);
      for (const summary of backwards(order, from)) {
        if (found.length >= limit) break;
        if (!visible(summary) || (state !== "all" && summary.state !== state)) continue;
        const { revision: _, credsExpiresAt: __, ...shown } = summary;
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
      for (const summary of order) if (visible(summary)) found[summary.state]++;
      return found;
    },
    credentials(now) {
      let soonestExpiry = Number.POSITIVE_INFINITY;
      let expired = 0;
      for (const { id, peel_id, state, credsExpiresAt } of order) {
        if (credsExpiresAt === undefined || !memberStates.has(state) || index.get(peel_id) !== id) continue;
        if (credsExpiresAt <= now) expired++;
        else soonestExpiry = Math.min(soonestExpiry, credsExpiresAt);
      }
      return { expired, ...(soonestExpiry === Number.POSITIVE_INFINITY ? {} : { soonestExpiry }) };
    },
    members: () => members.values(),
    onMember(run) {
      memberListeners.add(run);
      return () => memberListeners.delete(run);
    },
    unindexed() {
      return [...loose].flatMap((id) => {
        const summary = known.get(id);
        if (summary === undefined) return [];
        const { peel_id: peelId, revision, created_at } = summary;
        return [{ id, peelId, revision, createdAt: Date.parse(created_at) }];
      });
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

function* backwards<T>(list: readonly T[], end: number): Generator<T> {
  for (let at = end - 1; at >= 0; at--) {
    const item = list[at];
    if (item !== undefined) yield item;
  }
}

/** Where `wanted` stands, or would stand, in a list in the order of creation. */
function position(order: readonly Known[], wanted: Known): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const candidate = order[middle];
    if (candidate !== undefined && isOlder(candidate, wanted)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Stored times are RFC 3339 in UTC with milliseconds: their text sorts as they do.
const isOlder = (a: Known, b: Known): boolean =>
  a.created_at < b.created_at || (a.created_at === b.created_at && a.id < b.id);
