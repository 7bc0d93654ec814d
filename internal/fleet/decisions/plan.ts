import { isId } from "../../base/id.ts";
import { decode } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import type { Entry } from "../../bus/storage/mod.ts";
import { type Enrollment, liveStates } from "../enrollment/record/mod.ts";
import { indexKey, readIndexId } from "../enrollment/store/mod.ts";
import { type Decision, type DecisionBucket, decisionBuckets, isDecisionBucket, nameOf } from "./decision.ts";
import {
  compareRecords,
  enrollmentOf,
  isDecision,
  isLost,
  type Judge,
  orderOf,
  readingOf,
  type Stored,
} from "./order.ts";

type Logged = Omit<Decision, "at"> & { value: Uint8Array };
type Kept = Logged & { bucket: DecisionBucket };

/** A value on the bus. */
type There = Stored & { bucket: DecisionBucket; revision: number };

/** What the buckets of decisions contain at one moment. */
export type Contents = Readonly<Record<"enrollments" | "revocations", readonly Entry[]>> &
  Readonly<Partial<Record<DecisionBucket, readonly Entry[]>>>;

/** A decision that the bus does not have. */
export interface Lost {
  decision: Kept;
  peelId: string;
  /** What the bus has in its place: the revision to replace; absent when it has nothing. */
  revision?: number;
  /** The state of the older record, or `missing`, `older` or `unreadable`. */
  was: string;
}

/** How the log and the bus differ, and what restores the bus. */
export interface Plan {
  /** To be written to the bus. */
  lost: Lost[];
  /** Index entries of peels that must name another record afterwards. */
  indexes: { peelId: string; id: string; revision?: number }[];
  /** Records of the log that are not written back: their peel has another enrollment, which was decided later. */
  superseded: Lost[];
  /** Decisions of the bus that the log lacks or has in an older version. */
  unlogged: Kept[];
  /** What the log still has, and neither counts any longer nor is on the bus. */
  over: Kept[];
}

/** Compares the decisions of a log with what the bus has. */
export function planRestore(known: Iterable<Logged>, contents: Contents, judge: Judge): Plan {
  const stored = new Map<string, There>();
  for (const bucket of decisionBuckets) {
    for (const { key, value, revision } of contents[bucket] ?? []) {
      stored.set(nameOf({ bucket, key }), { bucket, key, value, revision });
    }
  }
  const missing: Lost[] = [];
  const over: Kept[] = [];
  const unlogged = new Map(stored);
  for (const logged of known) {
    const { bucket } = logged;
    // What has no place on this bus cannot be written back.
    if (!isDecisionBucket(bucket) || contents[bucket] === undefined) continue;
    const decision = { ...logged, bucket };
    const name = nameOf(decision);
    const there = stored.get(name);
    // Nearly all are equal: those are not decoded.
    if (there !== undefined && Buffer.compare(there.value, decision.value) === 0) {
      unlogged.delete(name);
      continue;
    }
    if (!isDecision(decision, judge)) {
      if (there === undefined) over.push(decision);
      continue;
    }
    const lost = lostOf(decision, there, judge);
    if (lost !== undefined) missing.push(lost);
    if (there !== undefined && isDecision(there, judge) && orderOf(there, decision) !== "newer")
      unlogged.delete(name);
  }
  const { indexes, losers } = planIndexes(missing, stored);
  return {
    lost: missing.filter(({ decision }) => !losers.has(decision.key)),
    superseded: missing.filter(({ decision }) => losers.has(decision.key)),
    indexes,
    over,
    unlogged: [...unlogged.values()]
      .filter((one) => isDecision(one, judge))
      .map(({ revision: _, ...kept }) => kept),
  };
}

function lostOf(decision: Kept, there: There | undefined, judge: Judge): Lost | undefined {
  const { enrollment, revocation } = readingOf(decision);
  const peelId = enrollment?.peelId ?? revocation?.peelId ?? "";
  if (there === undefined) return { decision, peelId, was: "missing" };
  if (!isLost(there, decision, judge)) return undefined;
  return { decision, peelId, revision: there.revision, was: wasOf(there, judge) };
}

function wasOf(there: Stored, judge: Judge): string {
  return enrollmentOf(there)?.state ?? (isDecision(there, judge) ? "older" : "unreadable");
}

/**
 * Which record the index of each affected peel names. One that was decided on comes before a pending one, and then
 * the newest: the others are not in force.
 */
function planIndexes(
  missing: readonly Lost[],
  stored: ReadonlyMap<string, There>,
): { indexes: Plan["indexes"]; losers: ReadonlySet<string> } {
  const lost = new Map(
    missing.flatMap(({ decision }) => {
      const record = enrollmentOf(decision);
      return record === undefined ? [] : [[record.id, record] as const];
    }),
  );
  const present = Map.groupBy(
    [...stored.values()].filter(({ key }) => !lost.has(key)),
    (one) => peelOf(one) ?? "",
  );
  const lostOfPeel = Map.groupBy(lost.values(), ({ peelId }) => peelId);
  const indexes: Plan["indexes"] = [];
  const losers = new Set<string>();
  const affected = new Set(lostOfPeel.keys());
  for (const [peelId, records] of present) {
    if (peelId === "" || stored.has(indexName(peelId))) continue;
    // An index that was lost alone: a pending record without one is being written at this moment.
    const isInForce = (one: Stored) => {
      const state = enrollmentOf(one)?.state;
      return state !== undefined && state !== "pending" && liveStates.has(state);
    };
    if (records.some(isInForce)) affected.add(peelId);
  }
  for (const peelId of affected) {
    const index = stored.get(indexName(peelId));
    const indexed = index === undefined ? undefined : readIndexId(index.value);
    const merged = [
      ...(present.get(peelId) ?? []).flatMap((one) => enrollmentOf(one) ?? []),
      ...(lostOfPeel.get(peelId) ?? []),
    ];
    const live = merged.filter(({ state }) => liveStates.has(state));
    const [winner, ...others] = live.sort(
      (one, other) => rank(other, indexed) - rank(one, indexed) || newestFirst(one, other),
    );
    if (winner === undefined) continue;
    for (const { id } of others) if (lost.has(id)) losers.add(id);
    if (indexed === winner.id) continue;
    indexes.push({ peelId, id: winner.id, ...(index === undefined ? {} : { revision: index.revision }) });
  }
  return { indexes, losers };
}

/** The peel of an enrollment, without a check of the whole record: every comparison asks it of all of them. */
function peelOf({ bucket, key, value }: Stored): string | undefined {
  if (bucket !== "enrollments" || !isId("enr", key)) return undefined;
  try {
    const record = decode(value);
    if (!isMap(record)) return undefined;
    return typeof record.peel_id === "string" ? record.peel_id : undefined;
  } catch {
    return undefined;
  }
}

const indexName = (peelId: string) => nameOf({ bucket: "enrollments", key: indexKey(peelId) });

/** A decided record takes precedence over a pending one; of two equal ones, that which is in force remains so. */
function rank({ id, state }: Enrollment, indexed: string | undefined): number {
  return (state === "pending" ? 0 : 2) + (id === indexed ? 1 : 0);
}

function newestFirst(one: Enrollment, other: Enrollment): number {
  return other.createdAt - one.createdAt || compareRecords(other, one);
}
