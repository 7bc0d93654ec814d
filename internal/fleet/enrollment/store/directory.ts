import { defined } from "../../../base/defined.ts";
import { toSvcError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { createSortedItems } from "../../../base/sorted-items.ts";
import { type Change, createOrderedView } from "../../../bus/storage/mod.ts";
import {
  decodeMap,
  type EnrollmentState,
  type EnrollmentSummary,
  enrollmentStates,
  isSameSet,
  type KnownEnrollment,
  type Labels,
  memberStates,
  readSummary,
  type StoredMap,
} from "../record/mod.ts";
import { createKeyIndex } from "./key-index.ts";
import { counts, decodeIndex, type Enrollments, parseKey, readingOf } from "./store.ts";
import { isVouched } from "./vouchers.ts";

/** All enrollments as a master knows them, kept current by one watch; lists and streams read it. */
export interface Directory {
  /** Resolves when the first reading of the bucket is complete. */
  readonly ready: Promise<void>;
  /**
   * Resolves when everything that is stored now has been seen, so that a list contains every earlier write.
   *
   * @throws SvcError `unavailable` when that takes too long, `storage` when the bus cannot be asked
   */
  caughtUp(): Promise<void>;
  /**
   * Summaries in this state (or all), newest first, after the given id; at most `limit`.
   *
   * @throws SvcError `bad_request` when that ID is unknown
   */
  list(query: { state: EnrollmentState | "all"; limit: number; after?: string }): EnrollmentSummary[];
  /** Those of these ids that a list of this state has; each costs one look-up. */
  pick(query: { state: EnrollmentState | "all"; ids: readonly string[] }): EnrollmentSummary[];
  /** Whether this peel is a member, and this key of the bus is one of its own. */
  holds(peelId: string, busPublicKey: string): boolean;
  /** The enrollment that is in force and has this key of the bus. */
  holderOf(busPublicKey: string): string | undefined;
  /** Number of records that no master vouches for, which lists show as `TAMPERED` and masters ignore. */
  countTampered(): number;
  /** State of the enrollment that the index of this peel points to. */
  stateOf(peelId: string): EnrollmentState | undefined;
  /** ID of the enrollment that the index of this peel points to. */
  idOf(peelId: string): string | undefined;
  /** The enrollment in force of this peel; `undefined` when it is not a member. */
  memberOf(peelId: string): Member | undefined;
  /** What the fleet says of this peel; `undefined` when it says nothing, or has no such member. */
  labelsOf(peelId: string): Labels | undefined;
  /** Whether this peel is suspended. */
  isSuspended(peelId: string): boolean;
  /** The valid enrollments that are suspended, or of which a clone is suspected. */
  marked(): string[];
  /** Number of suspended peels. */
  countSuspended(): number;
  /** Number of valid enrollments in each state. */
  countByState(): Record<EnrollmentState, number>;
  /** The newest enrollment of this key of a peel, and its state. */
  newestOf(publicKey: string): { id: string; state: EnrollmentState } | undefined;
  /** Number of members of which a clone is suspected. */
  countClones(): number;
  /**
   * The expiry of the members' credentials: the earliest of those valid at `now`, the number of expired ones,
   * and how long each lasts, in milliseconds: 0 for an expired one.
   */
  credentials(now: number): { soonestExpiry?: number; expired: number; left: number[] };
  /**
   * Peel ids of the fleet's members, `issued` and `active`, in the encoded form and in order; the same
   * list until something changes.
   */
  members(): readonly string[];
  /**
   * Calls `run` with each peel that becomes a member, stops being one, or changes its key or labels; returns a
   * function that stops it.
   */
  onMember(run: (peelId: string) => void): () => void;
  /** Pending enrollments that were created at or before this time, milliseconds since the Unix epoch. */
  pendingBefore(createdAt: number): { id: string; peelId: string }[];
  /** Live records without an index: being written, orphans, or others changed the index. */
  unindexed(): Unindexed[];
  /** Calls `run` with each new state of this enrollment; returns a function that stops it. */
  subscribe(id: string, run: (state: EnrollmentState) => void): () => void;
  stop(): void;
}

/** What a master knows of the enrollment of a member. */
export type Member = Pick<
  KnownEnrollment,
  "id" | "state" | "address" | "labels" | "leftSites" | "credsExpiresAt"
>;

/** A live record without an index. */
export interface Unindexed {
  id: string;
  peelId: string;
  state: EnrollmentState;
  revision: number;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
}

/** A record as the directory keeps it. */
type Listed = KnownEnrollment & {
  /** It claims to be a direct decision. */
  direct?: true;
  /** It is in the count of its state. */
  counted?: boolean;
};

export interface DirectoryDeps {
  enrollments: Enrollments;
  log: Log;
  /** Called with the ID of a record that claims to be a direct decision, and that no master vouches for. */
  onDirect?(id: string): void;
}

/**
 * Starts following the bucket `enrollments`. Membership is judged here: a record without a valid voucher of a
 * master appears in lists, and is ignored otherwise.
 */
export function createDirectory({ enrollments, log, onDirect }: DirectoryDeps): Directory {
  const { vouchers } = enrollments;
  const index = new Map<string, string>();
  const byBusKey = createKeyIndex();
  const byPublicKey = createKeyIndex();
  const subscribers = new Map<string, Set<(state: EnrollmentState) => void>>();
  /** IDs of live records whose index was not seen yet; nearly always empty. */
  const loose = new Set<string>();
  const members = createSortedItems<string>((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const memberListeners = new Set<(peelId: string) => void>();
  const complain = (key: string, cause: unknown) =>
    log.error("a stored enrollment cannot be read", { key, error: toSvcError(cause) });
  const report = ({ id, peel_id, state, direct }: Listed, revision: number) => {
    if (direct === true && onDirect !== undefined) onDirect(id);
    else {
      const fields = { enrollment_id: id, peel_id, state, revision };
      log.error("an enrollment record that no master vouches for is ignored", fields);
    }
  };
  const readListed = (value: Uint8Array, id: string, revision: number): Listed => {
    if (vouchers === undefined) return readSummary(decodeMap(value));
    const stored = readingOf(enrollments, { key: id, value }).map;
    if (stored !== undefined && isVouched(id, stored, vouchers)) return readSummary(stored);
    const direct = stored?.direct === true ? { direct: true as const } : {};
    const listed = { ...readableOf(stored), ...direct, id, trust: "TAMPERED" } as const;
    report(listed, revision);
    return listed;
  };
  /** What the index of a peel points to, if it is a record of this peel. */
  const indexed = (peelId: string): Listed | undefined => {
    const record = view.get(index.get(peelId) ?? "")?.item;
    return record?.peel_id === peelId ? record : undefined;
  };
  const stateOf = (peelId: string) => {
    const record = indexed(peelId);
    return record === undefined || isTampered(record) ? undefined : record.state;
  };
  const isVisible = (record: Listed) => !isTampered(record) && counts(record, index.get(record.peel_id));
  // Each enrollment asks how many are pending: counting all of them would cost the more the larger the fleet is.
  const countsByState = Object.fromEntries(enrollmentStates.map((state) => [state, 0])) as Record<
    EnrollmentState,
    number
  >;
  const count = (record: Listed, isCounted: boolean) => {
    if ((record.counted === true) === isCounted) return;
    record.counted = isCounted;
    countsByState[record.state] += isCounted ? 1 : -1;
  };
  const judgeMember = (peelId: string, isOther = false) => {
    const state = stateOf(peelId);
    const isMember = state !== undefined && memberStates.has(state);
    if (isMember === members.has(peelId) && !(isMember && isOther)) return;
    if (isMember) members.set(peelId, peelId);
    else members.delete(peelId);
    for (const run of memberListeners) run(peelId);
  };
  const judge = (id: string | undefined) => {
    const record = id === undefined ? undefined : view.get(id)?.item;
    if (record === undefined) return;
    count(record, isVisible(record));
    if (isVisible(record) || isTampered(record)) loose.delete(record.id);
    else loose.add(record.id);
  };
  const view = createOrderedView<Listed, Listed>({
    read(value, before, { key, revision }) {
      const record = readListed(value, key, revision);
      // The ID that stays is shared with the index.
      return before?.id === record.id ? { ...record, id: before.id } : record;
    },
    itemOf: (record) => record,
    placeOf: ({ id, created_at }) => ({ id, createdAt: created_at }),
    onValue(record, _, before) {
      const { id, state, peel_id } = record;
      byBusKey.change(id, before?.busKeys, record.busKeys);
      byPublicKey.change(id, before === undefined ? [] : [before.publicKey], [record.publicKey]);
      if (before !== undefined) count(before, false);
      judge(id);
      const isOther = before?.publicKey !== record.publicKey || !isSameSet(before.labels, record.labels);
      judgeMember(peel_id, before !== undefined && isOther);
      if (before !== undefined && before.peel_id !== peel_id) judgeMember(before.peel_id);
      if (before?.state === state || isTampered(record)) return;
      for (const run of subscribers.get(id) ?? []) run(state);
    },
    onGone(id, record) {
      const { peel_id, state } = record;
      byBusKey.change(id, record.busKeys, []);
      byPublicKey.change(id, [record.publicKey], []);
      loose.delete(id);
      count(record, false);
      if (vouchers !== undefined && !isTampered(record) && state !== "pending") {
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
      // Keep the texts of the record: the key is a slice of a message, and would keep the whole message in
      // memory.
      index.set(record?.peel_id === peelId ? record.peel_id : peelId, record?.id ?? id);
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

  /** The ids of the valid records that are such. */
  const valid = (isSuch: (item: Listed) => boolean): string[] => {
    const found: string[] = [];
    for (const { item } of view.kept()) if (isSuch(item) && isVisible(item)) found.push(item.id);
    return found;
  };
  const listed = (record: Listed, state: EnrollmentState | "all"): EnrollmentSummary | undefined => {
    if (!isVisible(record) && !isTampered(record)) return undefined;
    if (state !== "all" && record.state !== state) return undefined;
    return shownOf(record);
  };

  return {
    ready: watch.ready,
    caughtUp: () => watch.caughtUp(),
    list: ({ state, limit, after }) => view.page({ limit, after, show: (record) => listed(record, state) }),
    pick: ({ state, ids }) =>
      [...new Set(ids)].flatMap((id) => {
        const record = view.get(id)?.item;
        return (record === undefined ? undefined : listed(record, state)) ?? [];
      }),
    holds(peelId, busPublicKey) {
      const record = indexed(peelId);
      if (record === undefined || isTampered(record)) return false;
      return memberStates.has(record.state) && record.busKeys.includes(busPublicKey);
    },
    holderOf: (busPublicKey) =>
      byBusKey.of(busPublicKey).find((id) => {
        const item = view.get(id)?.item;
        return item !== undefined && memberStates.has(item.state) && isVisible(item);
      }),
    newestOf(publicKey) {
      const found = byPublicKey.of(publicKey).flatMap((id) => view.get(id)?.item ?? []);
      const newest = found
        .filter(isVisible)
        .sort((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : 0))[0];
      return newest === undefined ? undefined : { id: newest.id, state: newest.state };
    },
    countClones: () => valid((item) => item.cloneSuspected && memberStates.has(item.state)).length,
    stateOf,
    idOf: (peelId) => index.get(peelId),
    memberOf: (peelId) => (members.has(peelId) ? indexed(peelId) : undefined),
    labelsOf: (peelId) => (members.has(peelId) ? indexed(peelId)?.labels : undefined),
    isSuspended(peelId) {
      const record = indexed(peelId);
      return record !== undefined && !isTampered(record) && record.trust === "SUSPENDED";
    },
    marked: () => valid((item) => item.trust === "SUSPENDED" || item.cloneSuspected),
    countSuspended: () => valid(({ trust }) => trust === "SUSPENDED").length,
    countTampered() {
      let found = 0;
      for (const { item } of view.kept()) if (isTampered(item)) found++;
      return found;
    },
    countByState: () => ({ ...countsByState }),
    credentials(now) {
      let soonestExpiry = Number.POSITIVE_INFINITY;
      let expired = 0;
      const left: number[] = [];
      for (const { item } of view.kept()) {
        const { id, peel_id, state, credsExpiresAt } = item;
        if (credsExpiresAt === undefined || !memberStates.has(state) || index.get(peel_id) !== id) continue;
        if (isTampered(item)) continue;
        left.push(Math.max(0, credsExpiresAt - now));
        if (credsExpiresAt <= now) expired++;
        else soonestExpiry = Math.min(soonestExpiry, credsExpiresAt);
      }
      return { expired, left, ...(soonestExpiry === Number.POSITIVE_INFINITY ? {} : { soonestExpiry }) };
    },
    members: () => members.values(),
    onMember(run) {
      memberListeners.add(run);
      return () => memberListeners.delete(run);
    },
    pendingBefore(createdAt) {
      const found: { id: string; peelId: string }[] = [];
      for (const { item } of view.kept()) {
        if (item.state !== "pending" || !isVisible(item) || Date.parse(item.created_at) > createdAt) continue;
        found.push({ id: item.id, peelId: item.peel_id });
      }
      return found;
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

/** The fields of a list. */
function shownOf(record: Listed): EnrollmentSummary {
  const { id, peel_id, hostname, state, created_at, trust, fingerprint } = record;
  const { address, evidence, trusted_ca_spki } = record;
  return {
    ...{ id, peel_id, hostname, state, created_at, trust, fingerprint },
    ...defined({ address, evidence, trusted_ca_spki }),
  };
}

/** No master vouches for it. */
const isTampered = ({ trust }: Listed) => trust === "TAMPERED";

/** What can be shown of a record that may be anything. */
function readableOf(stored: StoredMap | undefined): KnownEnrollment {
  try {
    return readSummary(stored ?? {});
  } catch {
    const unknown = { peel_id: "", hostname: "", state: "pending", trust: "-", fingerprint: "-" } as const;
    return {
      ...unknown,
      id: "",
      busKeys: [],
      publicKey: "",
      cloneSuspected: false,
      created_at: new Date(0).toISOString(),
    };
  }
}
