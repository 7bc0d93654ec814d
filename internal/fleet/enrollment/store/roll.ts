import { toSvcError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { siteOf } from "../../../base/names/ip-network.ts";
import { createSortedItems, type SortedItems } from "../../../base/sorted-items.ts";
import { type Change, createOrderedView } from "../../../bus/storage/mod.ts";
import { type EnrollmentState, enrollmentStates, isSameSet, memberStates } from "../record/mod.ts";
import { createKeyIndex, type KeyIndex } from "./key-index.ts";
import { isTampered, type Listed, readListed } from "./listed.ts";
import { counts, decodeIndex, type Enrollments, parseKey } from "./store.ts";

export interface DirectoryDeps {
  enrollments: Enrollments;
  log: Log;
  /** Called with the ID of a record that claims to be a direct decision, and that no master vouches for. */
  onDirect?(id: string): void;
}

/** How many visible records were pending when one of them was counted, itself included. */
export interface PendingCount {
  all: number;
  /** Of hosts at the site of its host; 0 when that is not known. */
  ofSite: number;
}

/** The records and their indexes in memory, and who waits for a change. */
export interface Roll extends DirectoryDeps {
  readonly view: ReturnType<typeof createOrderedView<Listed, Listed>>;
  /** The enrollment that the index of a peel points to. */
  readonly index: Map<string, string>;
  readonly byBusKey: KeyIndex;
  readonly byPublicKey: KeyIndex;
  readonly members: SortedItems<string>;
  /** Of visible records. Each enrollment needs how many are pending, and counting them takes longer in a larger fleet. */
  readonly countsByState: Record<EnrollmentState, number>;
  /** How many visible records are pending, by where their hosts are. */
  readonly pendingBySite: Map<string, number>;
  /** Pending records that stand next to the one that the index of their peel points to, by peel; nearly always empty. */
  readonly rivals: Map<string, Set<string>>;
  /** IDs of live records whose index was not seen yet; nearly always empty. */
  readonly loose: Set<string>;
  readonly subscribers: Map<string, Set<(state: EnrollmentState) => void>>;
  /** Called once each, when this record is counted as pending. */
  readonly countListeners: Map<string, (pending: PendingCount) => void>;
  readonly memberListeners: Set<(peelId: string) => void>;
}

/** Makes an empty one; `applyChange` fills it. */
export function createRoll(deps: DirectoryDeps): Roll {
  const { enrollments, log } = deps;
  const view = createOrderedView<Listed, Listed>({
    read(value, before, { key, revision }) {
      const record = readListed(enrollments, key, value);
      if (isTampered(record)) report(deps, record, revision);
      // The ID that stays is shared with the index.
      return before?.id === record.id ? { ...record, id: before.id } : record;
    },
    itemOf: (record) => record,
    placeOf: ({ id, created_at }) => ({ id, createdAt: created_at }),
    onValue: (record, _, before) => onRecord(roll, record, before),
    onGone: (_, record) => onGone(roll, record),
    onUnreadable: (key, cause) => complain(log, key, cause),
  });
  const roll: Roll = {
    ...{ ...deps, view, index: new Map(), byBusKey: createKeyIndex(), byPublicKey: createKeyIndex() },
    members: createSortedItems<string>((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
    countsByState: Object.fromEntries(enrollmentStates.map((state) => [state, 0])) as Roll["countsByState"],
    ...{ pendingBySite: new Map(), rivals: new Map() },
    ...{ loose: new Set(), subscribers: new Map(), countListeners: new Map(), memberListeners: new Set() },
  };
  return roll;
}

/** Applies a change of the bucket. */
export function applyChange(roll: Roll, change: Change): void {
  try {
    const key = parseKey(change.key);
    if ("id" in key) roll.view.apply(change);
    else applyIndex(roll, key.peelId, change);
  } catch (cause) {
    complain(roll.log, change.key, cause);
  }
}

/** What the index of a peel points to, if it is a record of this peel. */
export function indexed({ view, index }: Roll, peelId: string): Listed | undefined {
  const record = view.get(index.get(peelId) ?? "")?.item;
  return record?.peel_id === peelId ? record : undefined;
}

export function stateOf(roll: Roll, peelId: string): EnrollmentState | undefined {
  const record = indexed(roll, peelId);
  return record === undefined || isTampered(record) ? undefined : record.state;
}

export const isVisible = ({ index }: Roll, record: Listed): boolean =>
  !isTampered(record) && counts(record, index.get(record.peel_id));

function onRecord(roll: Roll, record: Listed, before: Listed | undefined): void {
  const { id, state, peel_id } = record;
  roll.byBusKey.change(id, before?.busKeys, record.busKeys);
  roll.byPublicKey.change(id, before === undefined ? [] : [before.publicKey], [record.publicKey]);
  if (before !== undefined) count(roll, before, false);
  if (before !== undefined) noteRival(roll, before, false);
  noteRival(roll, record, isRival(record));
  judge(roll, id);
  const isOther = before?.publicKey !== record.publicKey || !isSameSet(before.labels, record.labels);
  judgeMember(roll, peel_id, before !== undefined && isOther);
  if (before !== undefined && before.peel_id !== peel_id) judgeMember(roll, before.peel_id);
  if (before?.state === state || isTampered(record)) return;
  for (const run of roll.subscribers.get(id) ?? []) run(state);
}

function onGone(roll: Roll, record: Listed): void {
  const { id, peel_id, state } = record;
  roll.byBusKey.change(id, record.busKeys, []);
  roll.byPublicKey.change(id, [record.publicKey], []);
  roll.loose.delete(id);
  noteRival(roll, record, false);
  count(roll, record, false);
  if (roll.enrollments.vouchers !== undefined && !isTampered(record) && state !== "pending") {
    // Masters remove only what is pending.
    roll.log.error("an enrollment record was removed by others", { enrollment_id: id, peel_id, state });
  }
  judgeMember(roll, peel_id);
}

function applyIndex(roll: Roll, peelId: string, { key, value }: Change): void {
  const { index, view } = roll;
  const before = index.get(peelId);
  if (value === undefined) index.delete(peelId);
  else {
    const id = decodeIndex({ key, value });
    const record = view.get(id)?.item;
    // Keep the texts of the record: the key is a slice of a message, and would keep the whole message in
    // memory.
    index.set(record?.peel_id === peelId ? record.peel_id : peelId, record?.id ?? id);
  }
  judge(roll, before);
  judge(roll, index.get(peelId));
  judgeMember(roll, peelId);
}

/** Counts a record, and notes whether it lacks its index. */
function judge(roll: Roll, id: string | undefined): void {
  const record = id === undefined ? undefined : roll.view.get(id)?.item;
  if (record === undefined) return;
  const isSeen = isVisible(roll, record);
  count(roll, record, isSeen);
  if (isSeen || isTampered(record)) roll.loose.delete(record.id);
  else roll.loose.add(record.id);
}

function count(roll: Roll, record: Listed, isCounted: boolean): void {
  if ((record.counted === true) === isCounted) return;
  const { countsByState, countListeners } = roll;
  record.counted = isCounted;
  countsByState[record.state] += isCounted ? 1 : -1;
  if (record.state !== "pending") return;
  const ofSite = record.address === undefined ? 0 : countOfSite(roll, record.address, isCounted ? 1 : -1);
  if (isCounted) countListeners.get(record.id)?.({ all: countsByState.pending, ofSite });
}

function countOfSite({ pendingBySite }: Roll, address: string, by: 1 | -1): number {
  const site = siteOf(address);
  const left = (pendingBySite.get(site) ?? 0) + by;
  if (left > 0) pendingBySite.set(site, left);
  else pendingBySite.delete(site);
  return left;
}

const isRival = (record: Listed): boolean =>
  record.state === "pending" && record.rivalOf !== undefined && !isTampered(record);

function noteRival({ rivals }: Roll, { id, peel_id }: Listed, stands: boolean): void {
  if (!stands && !rivals.has(peel_id)) return;
  const ids = rivals.get(peel_id) ?? new Set();
  if (stands) ids.add(id);
  else ids.delete(id);
  if (ids.size > 0) rivals.set(peel_id, ids);
  else rivals.delete(peel_id);
}

/** Notes whether a peel is a member. @param isOther its key or its labels changed */
function judgeMember(roll: Roll, peelId: string, isOther = false): void {
  const { members, memberListeners } = roll;
  const state = stateOf(roll, peelId);
  const isMember = state !== undefined && memberStates.has(state);
  if (isMember === members.has(peelId) && !(isMember && isOther)) return;
  if (isMember) members.set(peelId, peelId);
  else members.delete(peelId);
  for (const run of memberListeners) run(peelId);
}

/** Reports a record that no master vouches for. */
function report({ log, onDirect }: DirectoryDeps, { id, peel_id, state, direct }: Listed, revision: number) {
  if (direct === true && onDirect !== undefined) return onDirect(id);
  const fields = { enrollment_id: id, peel_id, state, revision };
  log.error("an enrollment record that no master vouches for is ignored", fields);
}

const complain = (log: Log, key: string, cause: unknown): void =>
  log.error("a stored enrollment cannot be read", { key, error: toSvcError(cause) });
