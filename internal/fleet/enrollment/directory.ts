import { toSvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { createSortedItems } from "../../base/sorted-items.ts";
import { type Bucket, type Change, createOrderedView } from "../../bus/mod.ts";
import {
  decodeSummary,
  type EnrollmentState,
  type EnrollmentSummary,
  enrollmentStates,
  type KnownEnrollment,
} from "./record.ts";
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
  /** Whether this peel is a member, and this key of the bus is one of its own. */
  holds(peelId: string, busPublicKey: string): boolean;
  /** The enrollment that is in force and has this key of the bus. */
  holderOf(busPublicKey: string): string | undefined;
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

/** Starts following the bucket `enrollments`. */
export function createDirectory({ enrollments, log }: { enrollments: Bucket; log: Log }): Directory {
  const index = new Map<string, string>();
  const subscribers = new Map<string, Set<(state: EnrollmentState) => void>>();
  /** Ids of live records whose index was not seen yet; nearly always empty. */
  const loose = new Set<string>();
  const members = createSortedItems<string>((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const memberListeners = new Set<(peelId: string) => void>();
  const complain = (key: string, cause: unknown) =>
    log.error("a stored enrollment cannot be read", { key, error: toSvcError(cause) });
  const stateOf = (peelId: string) => view.get(index.get(peelId) ?? "")?.item.state;
  const isVisible = (record: KnownEnrollment) => counts(record, index.get(record.peel_id));
  const judgeMember = (peelId: string) => {
    const state = stateOf(peelId);
    const isMember = state !== undefined && memberStates.has(state);
    if (isMember === members.has(peelId)) return;
    if (isMember) members.set(peelId, peelId);
    else members.delete(peelId);
    for (const run of memberListeners) run(peelId);
  };
  const judge = (id: string | undefined) => {
    const record = id === undefined ? undefined : view.get(id)?.item;
    if (record === undefined) return;
    if (isVisible(record)) loose.delete(record.id);
    else loose.add(record.id);
  };
  const view = createOrderedView<KnownEnrollment, KnownEnrollment>({
    read(value, before) {
      const record = decodeSummary(value);
      // The id that stays is shared with the index.
      return before?.id === record.id ? { ...record, id: before.id } : record;
    },
    itemOf: (record) => record,
    placeOf: ({ id, created_at }) => ({ id, createdAt: created_at }),
    onValue({ id, state, peel_id }, _, before) {
      judge(id);
      judgeMember(peel_id);
      if (before?.state === state) return;
      for (const run of subscribers.get(id) ?? []) run(state);
    },
    onGone(id, { peel_id }) {
      loose.delete(id);
      judgeMember(peel_id);
    },
    onUnreadable: complain,
  });
  const applyIndex = (peelId: string, change: Change) => {
    const before = index.get(peelId);
    if (change.value === undefined) index.delete(peelId);
    else {
      const id = decodeIndex({ key: change.key, value: change.value });
      const record = view.get(id)?.item;
      // Texts that stay are those of the record: a key is a part of a message, and would keep all of it.
      index.set(record?.peel_id ?? peelId, record?.id ?? id);
    }
    judge(before);
    judge(index.get(peelId));
    judgeMember(peelId);
  };
  const watch = enrollments.watch((change) => {
    try {
      const key = parseKey(change.key);
      if ("id" in key) view.apply(change);
      else applyIndex(key.peelId, change);
    } catch (cause) {
      complain(change.key, cause);
    }
  });

  return {
    ready: watch.ready,
    caughtUp: () => watch.caughtUp(),
    list: ({ state, limit, after }) =>
      view.page({
        limit,
        after,
        show(record): EnrollmentSummary | undefined {
          if (!isVisible(record) || (state !== "all" && record.state !== state)) return undefined;
          const { credsExpiresAt: _, busKeys: __, ...shown } = record;
          return shown;
        },
      }),
    holds(peelId, busPublicKey) {
      const record = view.get(index.get(peelId) ?? "")?.item;
      return record !== undefined && memberStates.has(record.state) && record.busKeys.includes(busPublicKey);
    },
    holderOf(busPublicKey) {
      for (const { item } of view.kept()) {
        if (memberStates.has(item.state) && isVisible(item) && item.busKeys.includes(busPublicKey))
          return item.id;
      }
      return undefined;
    },
    stateOf,
    countByState() {
      const found = Object.fromEntries(enrollmentStates.map((state) => [state, 0])) as Record<
        EnrollmentState,
        number
      >;
      for (const { item } of view.kept()) if (isVisible(item)) found[item.state]++;
      return found;
    },
    credentials(now) {
      let soonestExpiry = Number.POSITIVE_INFINITY;
      let expired = 0;
      for (const { item } of view.kept()) {
        const { id, peel_id, state, credsExpiresAt } = item;
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
        const kept = view.get(id);
        if (kept === undefined) return [];
        const { peel_id: peelId, created_at } = kept.item;
        return [{ id, peelId, revision: kept.revision, createdAt: Date.parse(created_at) }];
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
