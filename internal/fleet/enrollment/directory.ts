import { toSvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { createSortedItems } from "../../base/sorted-items.ts";
import { type Change, createOrderedView } from "../../bus/mod.ts";
import {
  decodeMap,
  type EnrollmentState,
  type EnrollmentSummary,
  enrollmentStates,
  type KnownEnrollment,
  readSummary,
  type StoredMap,
} from "./record.ts";
import { counts, decodeIndex, type Enrollments, parseKey } from "./store.ts";
import { memberStates } from "./transition.ts";

/** All enrollments as a master knows them, kept current by one watch; lists and streams read it. */
export interface Directory {
  /** Resolves when the first reading of the bucket is complete. */
  readonly ready: Promise<void>;
  /**
   * Resolves when everything that is stored now has been seen, so that a list contains every earlier write.
   */
  caughtUp(): Promise<void>;
  /**
   * Summaries in this state (or all), newest first, after the given id; at most `limit`.
   *
   * @throws SvcError `bad_request` when that ID is unknown
   */
  list(query: { state: EnrollmentState | "all"; limit: number; after?: string }): EnrollmentSummary[];
  /** Number of records that count for nothing, because no master vouches for them, by their trust in lists. */
  distrusted(): Record<Distrust, number>;
  /** State of the enrollment that the index of this peel points to. */
  stateOf(peelId: string): EnrollmentState | undefined;
  /** Number of valid enrollments in each state. */
  countByState(): Record<EnrollmentState, number>;
  /**
   * The expiry of the members' credentials: the earliest of those valid at `now`, and the number of expired
   * ones.
   */
  credentials(now: number): { soonestExpiry?: number; expired: number };
  /**
   * Peel ids of the fleet's members, `issued` and `active`, in the encoded form and in order; the same
   * list until something changes.
   */
  members(): readonly string[];
  /**
   * Calls `run` with each peel that becomes a member, or stops being one; returns a function that stops it.
   */
  onMember(run: (peelId: string) => void): () => void;
  /** Live records without an index: being written, orphans, or others changed the index. */
  unindexed(): Unindexed[];
  /** Calls `run` with each new state of this enrollment; returns a function that stops it. */
  subscribe(id: string, run: (state: EnrollmentState) => void): () => void;
  stop(): void;
}

/** A live record without an index. */
export interface Unindexed {
  id: string;
  peelId: string;
  state: EnrollmentState;
  revision: number;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
}

/** The trust that lists show for a record that counts for nothing. */
export type Distrust = "TAMPERED" | "UNVOUCHED";
const isDistrusted = ({ trust }: EnrollmentSummary) => trust === "TAMPERED" || trust === "UNVOUCHED";

export interface DirectoryDeps {
  enrollments: Enrollments;
  log: Log;
  /** The last revision that a master of an earlier version may have written; later ones have vouchers. */
  unvouchedUntil?: number;
  /** Called with the ID of a record that claims to be a direct decision. */
  onDirect?(id: string): void;
}

/**
 * Starts following the bucket `enrollments`. Membership is judged here: a record without a valid voucher of a
 * master appears in lists, and counts for nothing.
 */
export function createDirectory({
  enrollments,
  log,
  unvouchedUntil = -1,
  onDirect,
}: DirectoryDeps): Directory {
  const { vouchers } = enrollments;
  const index = new Map<string, string>();
  const subscribers = new Map<string, Set<(state: EnrollmentState) => void>>();
  /** IDs of live records whose index was not seen yet; nearly always empty. */
  const loose = new Set<string>();
  const members = createSortedItems<string>((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const memberListeners = new Set<(peelId: string) => void>();
  const complain = (key: string, cause: unknown) =>
    log.error("a stored enrollment cannot be read", { key, error: toSvcError(cause) });
  const judgeRecord = (stored: StoredMap | undefined, id: string, revision: number): KnownEnrollment => {
    const standing = stored?.id === id ? vouchers?.judge(stored) : "tampered";
    if (stored !== undefined && (standing === "vouched" || standing === undefined))
      return readSummary(stored);
    const trust = standing === "unvouched" && revision <= unvouchedUntil ? "UNVOUCHED" : "TAMPERED";
    const shown = { ...readableOf(stored), id, trust } as const;
    if (trust === "UNVOUCHED") return shown;
    if (stored?.direct === true && onDirect !== undefined) onDirect(id);
    else {
      const fields = { enrollment_id: id, peel_id: shown.peel_id, state: shown.state, revision };
      log.error("an enrollment record that no master vouches for counts for nothing", fields);
    }
    return shown;
  };
  const stateOf = (peelId: string) => {
    const record = view.get(index.get(peelId) ?? "")?.item;
    return record === undefined || isDistrusted(record) || record.peel_id !== peelId
      ? undefined
      : record.state;
  };
  const isVisible = (record: KnownEnrollment) =>
    !isDistrusted(record) && counts(record, index.get(record.peel_id));
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
    if (isVisible(record) || isDistrusted(record)) loose.delete(record.id);
    else loose.add(record.id);
  };
  const view = createOrderedView<KnownEnrollment, KnownEnrollment>({
    read(value, before, { key, revision }) {
      const record =
        vouchers === undefined ? readSummary(decodeMap(value)) : judgeRecord(mapOf(value), key, revision);
      // The ID that stays is shared with the index.
      return before?.id === record.id ? { ...record, id: before.id } : record;
    },
    itemOf: (record) => record,
    placeOf: ({ id, created_at }) => ({ id, createdAt: created_at }),
    onValue(record, _, before) {
      const { id, state, peel_id } = record;
      judge(id);
      judgeMember(peel_id);
      if (before !== undefined && before.peel_id !== peel_id) judgeMember(before.peel_id);
      if (before?.state === state || isDistrusted(record)) return;
      for (const run of subscribers.get(id) ?? []) run(state);
    },
    onGone(id, record) {
      const { peel_id, state } = record;
      loose.delete(id);
      if (vouchers !== undefined && !isDistrusted(record) && state !== "pending") {
        // Masters remove only what is pending.
        log.error("an enrollment record was removed by others", { enrollment_id: id, peel_id, state });
      }
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
      // Keep the ID of the record: the key is a slice of a message, and would keep the whole message in
      // memory.
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
          if (!isVisible(record) && !isDistrusted(record)) return undefined;
          if (state !== "all" && record.state !== state) return undefined;
          const { credsExpiresAt: _, ...shown } = record;
          return shown;
        },
      }),
    stateOf,
    distrusted() {
      const found = { TAMPERED: 0, UNVOUCHED: 0 };
      for (const { item } of view.kept()) {
        if (item.trust === "TAMPERED" || item.trust === "UNVOUCHED") found[item.trust]++;
      }
      return found;
    },
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
        if (isDistrusted(item)) continue;
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
        const { peel_id: peelId, state, created_at } = kept.item;
        return [{ id, peelId, state, revision: kept.revision, createdAt: Date.parse(created_at) }];
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

function mapOf(value: Uint8Array): StoredMap | undefined {
  try {
    return decodeMap(value);
  } catch {
    return undefined;
  }
}

/** What can be shown of a record that may be anything. */
function readableOf(stored: StoredMap | undefined): KnownEnrollment {
  try {
    return readSummary(stored ?? {});
  } catch {
    const unknown = { peel_id: "", hostname: "", state: "pending", trust: "TAMPERED" } as const;
    return { ...unknown, id: "", created_at: new Date(0).toISOString() };
  }
}
