import type { Entry } from "../../bus/mod.ts";
import { type Enrollment, indexKey, liveStates, readIndexId } from "../enrollment/mod.ts";
import { type Decision, type DecisionBucket, nameOf } from "./decision.ts";
import { compareRecords, enrollmentOf, isDecision, orderOf, type Stored } from "./order.ts";

type Kept = Omit<Decision, "at"> & { value: Uint8Array };

/** What the buckets of decisions contain at one moment. */
export type Contents = Readonly<Record<DecisionBucket, readonly Entry[]>>;

/** A decision that the bus does not have. */
export interface Lost {
  decision: Kept;
  peelId: string;
  /** What the bus has in its place: the revision to replace; absent when it has nothing. */
  revision?: number;
  /** The state of the older record, or `missing`. */
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
}

/** Compares the decisions of a log with what the bus has. */
export function planRestore(known: Iterable<Kept>, contents: Contents, now: number): Plan {
  const stored = new Map<string, Stored & { revision: number }>();
  for (const bucket of ["enrollments", "revocations"] as const) {
    for (const { key, value, revision } of contents[bucket]) {
      stored.set(nameOf({ bucket, key }), { bucket, key, value, revision });
    }
  }
  const missing: Lost[] = [];
  const unlogged = new Map(
    [...stored]
      .filter(([, one]) => isDecision(one, now))
      .map(([name, { revision: _, ...kept }]) => [name, kept]),
  );
  for (const decision of known) {
    if (!isDecision(decision, now)) continue;
    const name = nameOf(decision);
    const there = stored.get(name);
    const lost = lostOf(decision, there, now);
    if (lost !== undefined) missing.push(lost);
    const logged = unlogged.get(name);
    if (logged !== undefined && orderOf(logged, decision) !== "newer") unlogged.delete(name);
  }
  const { indexes, losers } = planIndexes(missing, stored);
  return {
    lost: missing.filter(({ decision }) => !losers.has(decision.key)),
    superseded: missing.filter(({ decision }) => losers.has(decision.key)),
    indexes,
    unlogged: [...unlogged.values()],
  };
}

function lostOf(
  decision: Kept,
  there: (Stored & { revision: number }) | undefined,
  now: number,
): Lost | undefined {
  const peelId = enrollmentOf(decision)?.peelId ?? "";
  if (there === undefined) return { decision, peelId, was: "missing" };
  // A value that cannot be read, or that no one decided, does not count as the record.
  if (!isDecision(there, now)) return { decision, peelId, revision: there.revision, was: "unreadable" };
  if (orderOf(there, decision) !== "older") return undefined;
  return { decision, peelId, revision: there.revision, was: enrollmentOf(there)?.state ?? "older" };
}

/**
 * Which record the index of each affected peel names. One that was decided on comes before a pending one, and then
 * the newest: the others are not in force.
 */
function planIndexes(
  missing: readonly Lost[],
  stored: ReadonlyMap<string, Stored & { revision: number }>,
): { indexes: Plan["indexes"]; losers: ReadonlySet<string> } {
  const lost = new Map(missing.map(({ decision }) => [decision.key, enrollmentOf(decision)]));
  const present = [...stored.values()].flatMap((one) => enrollmentOf(one) ?? []);
  const merged = [
    ...present.filter(({ id }) => lost.get(id) === undefined),
    ...[...lost.values()].flatMap((record) => record ?? []),
  ];
  const indexes: Plan["indexes"] = [];
  const losers = new Set<string>();
  const affected = new Set([
    ...[...lost.values()].flatMap((record) => record?.peelId ?? []),
    // An index that was lost alone: a pending record without one is being written at this moment.
    ...present.flatMap(({ state, peelId }) =>
      liveStates.has(state) && state !== "pending" && !stored.has(indexName(peelId)) ? [peelId] : [],
    ),
  ]);
  for (const peelId of affected) {
    const index = stored.get(indexName(peelId));
    const indexed = index === undefined ? undefined : readIndexId(index.value);
    const live = merged.filter((record) => record.peelId === peelId && liveStates.has(record.state));
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

const indexName = (peelId: string) => nameOf({ bucket: "enrollments", key: indexKey(peelId) });

/** A decided record counts more than a pending one; of two equal ones, that which is in force remains so. */
function rank({ id, state }: Enrollment, indexed: string | undefined): number {
  return (state === "pending" ? 0 : 2) + (id === indexed ? 1 : 0);
}

function newestFirst(one: Enrollment, other: Enrollment): number {
  return other.createdAt - one.createdAt || compareRecords(other, one);
}
