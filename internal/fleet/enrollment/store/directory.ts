import { subscribe } from "../../../base/subscribe.ts";
import {
  type EnrollmentState,
  type EnrollmentSummary,
  type KnownEnrollment,
  type Labels,
  memberStates,
} from "../record/mod.ts";
import { isTampered, type Listed, shownOf } from "./listed.ts";
import {
  applyChange,
  createRoll,
  type DirectoryDeps,
  indexed,
  isVisible,
  type PendingCount,
  type Roll,
  stateOf,
} from "./roll.ts";

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
  /** Whether there is a record with this ID, valid or not. */
  knows(id: string): boolean;
  /** Number of valid enrollments that are pending, of hosts that asked from this site. */
  countPendingOf(site: string): number;
  /** The enrollments that wait next to the one that the index of this peel points to. */
  rivalsOf(peelId: string): Rival[];
  /** Those of all peels. */
  rivals(): (Rival & { peelId: string })[];
  /** The enrollment in force of this peel; `undefined` when it is not a member. */
  memberOf(peelId: string): Member | undefined;
  /** What the fleet says of this peel; `undefined` when it says nothing, or has no such member. */
  labelsOf(peelId: string): Labels | undefined;
  /** Whether this peel is suspended. */
  isSuspended(peelId: string): boolean;
  /** The valid enrollments that are suspended, of which a clone is suspected, or whose host was copied. */
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
  /**
   * Calls `run` once, when this record that is about to be stored is counted as pending, with how many were at that
   * place of the stream: the same on every master. Returns a function that stops it.
   */
  onCounted(id: string, run: (pending: PendingCount) => void): () => void;
  /** Calls `run` with each new state of this enrollment; returns a function that stops it. */
  subscribe(id: string, run: (state: EnrollmentState) => void): () => void;
  stop(): void;
}

/** A pending enrollment of a host that proved itself while another one waited under its peel id. */
export interface Rival {
  id: string;
  publicKey: string;
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

/**
 * Starts following the bucket `enrollments`. Membership is judged here: a record without a valid voucher of a
 * master appears in lists, and is ignored otherwise.
 */
export function createDirectory(deps: DirectoryDeps): Directory {
  const roll = createRoll(deps);
  const { view, index, members } = roll;
  const watch = deps.enrollments.watch((change) => applyChange(roll, change));
  const listed = (record: Listed, state: EnrollmentState | "all"): EnrollmentSummary | undefined => {
    if (!isVisible(roll, record) && !isTampered(record)) return undefined;
    if (state !== "all" && record.state !== state) return undefined;
    return { ...shownOf(record), ...(isContested(roll, record) ? { contested: true as const } : {}) };
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
      const record = indexed(roll, peelId);
      if (record === undefined || isTampered(record)) return false;
      return memberStates.has(record.state) && record.busKeys.includes(busPublicKey);
    },
    holderOf: (busPublicKey) =>
      recordsOf(roll, roll.byBusKey.of(busPublicKey)).find(({ state }) => memberStates.has(state))?.id,
    newestOf(publicKey) {
      const [newest] = recordsOf(roll, roll.byPublicKey.of(publicKey)).sort((a, b) =>
        a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : 0,
      );
      return newest === undefined ? undefined : { id: newest.id, state: newest.state };
    },
    countClones: () => valid(roll, (item) => item.cloneSuspected && memberStates.has(item.state)).length,
    stateOf: (peelId) => stateOf(roll, peelId),
    idOf: (peelId) => index.get(peelId),
    knows: (id) => view.get(id) !== undefined,
    countPendingOf: (site) => roll.pendingBySite.get(site) ?? 0,
    rivalsOf: (peelId) => rivalsOf(roll, peelId),
    rivals: () =>
      [...roll.rivals.keys()].flatMap((peelId) =>
        rivalsOf(roll, peelId).map((rival) => ({ ...rival, peelId })),
      ),
    memberOf: (peelId) => (members.has(peelId) ? indexed(roll, peelId) : undefined),
    labelsOf: (peelId) => (members.has(peelId) ? indexed(roll, peelId)?.labels : undefined),
    isSuspended: (peelId) => indexed(roll, peelId)?.trust === "SUSPENDED",
    marked: () =>
      valid(
        roll,
        (item) => item.trust === "SUSPENDED" || item.cloneSuspected || item.copiedAt !== undefined,
      ).map(({ id }) => id),
    countSuspended: () => valid(roll, ({ trust }) => trust === "SUSPENDED").length,
    countTampered: () => view.kept().filter(({ item }) => isTampered(item)).length,
    countByState: () => ({ ...roll.countsByState }),
    credentials: (now) => credentialsOf(roll, now),
    members: () => members.values(),
    onMember: (run) => subscribe(roll.memberListeners, run),
    pendingBefore: (createdAt) =>
      valid(roll, (item) => item.state === "pending" && Date.parse(item.created_at) <= createdAt).map(
        ({ id, peel_id: peelId }) => ({ id, peelId }),
      ),
    unindexed: () => [...roll.loose].flatMap((id) => unindexedOf(roll, id) ?? []),
    onCounted(id, run) {
      roll.countListeners.set(id, (pending) => {
        roll.countListeners.delete(id);
        run(pending);
      });
      return () => void roll.countListeners.delete(id);
    },
    subscribe: (id, run) => awaitState(roll, id, run),
    stop: () => watch.stop(),
  };
}

/** Those that wait next to what the index points to; a promoted one has its index a moment before it shows it. */
function rivalsOf(roll: Roll, peelId: string): Rival[] {
  const ids = [...(roll.rivals.get(peelId) ?? [])].filter((id) => roll.index.get(peelId) !== id);
  return recordsOf(roll, ids).map(({ id, publicKey }) => ({ id, publicKey }));
}

/** Whether several hosts wait under the peel id of this record. */
function isContested(roll: Roll, { id, peel_id, state }: Listed): boolean {
  if (state !== "pending") return false;
  const others = rivalsOf(roll, peel_id).filter((one) => one.id !== id);
  return others.length > 0 || (roll.index.get(peel_id) !== id && stateOf(roll, peel_id) === "pending");
}

/** The visible records of these. */
const recordsOf = (roll: Roll, ids: readonly string[]): Listed[] =>
  ids.flatMap((id) => roll.view.get(id)?.item ?? []).filter((record) => isVisible(roll, record));

/** The valid records that are such. */
function valid(roll: Roll, isSuch: (item: Listed) => boolean): Listed[] {
  const found: Listed[] = [];
  for (const { item } of roll.view.kept()) if (isSuch(item) && isVisible(roll, item)) found.push(item);
  return found;
}

function credentialsOf({ view, index }: Roll, now: number): ReturnType<Directory["credentials"]> {
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
}

function unindexedOf({ view }: Roll, id: string): Unindexed | undefined {
  const found = view.get(id);
  if (found === undefined) return undefined;
  const { peel_id: peelId, state, created_at } = found.item;
  return { id, peelId, state, revision: found.revision, createdAt: Date.parse(created_at) };
}

function awaitState({ subscribers }: Roll, id: string, run: (state: EnrollmentState) => void): () => void {
  const set = subscribers.get(id) ?? new Set();
  subscribers.set(id, set.add(run));
  return () => {
    set.delete(run);
    if (set.size === 0) subscribers.delete(id);
  };
}
