import type { Administrator } from "../../wire/administrators.ts";
import { isSignedOperator, lastRecordKey, type SignedOperatorRecord } from "../../wire/operator-record.ts";
import { chainAbove, type Standing } from "../../wire/operator-standing.ts";

/**
 * Records of operators by name, each in the greatest version that this peel has seen. When another operator has taken
 * the name, the last record of the one before is there by `lastRecordKey`: what that one released stays released.
 */
export type SeenRecords = ReadonlyMap<string, SignedOperatorRecord>;

/** Adds a record, if it is newer than what is there. @returns whether it was */
function addRecord(to: Map<string, SignedOperatorRecord>, record: SignedOperatorRecord): boolean {
  const before = to.get(record.name);
  if (before === undefined || record.version > before.version) {
    to.set(record.name, record);
    if (before !== undefined && before.publicKey !== record.publicKey) addLast(to, before);
    return true;
  }
  return before.publicKey !== record.publicKey && addLast(to, record);
}

/** Of a key that has lost its name, the record that disabled it counts on, and no other. */
function addLast(to: Map<string, SignedOperatorRecord>, record: SignedOperatorRecord): boolean {
  const key = lastRecordKey(record);
  if (record.disabled !== true || record.version <= (to.get(key)?.version ?? 0)) return false;
  to.set(key, record);
  return true;
}

/** The records with the given ones added, in whatever order they come. */
export function withRecords(seen: SeenRecords, given: readonly SignedOperatorRecord[]): SeenRecords {
  const all = new Map(seen);
  for (const record of given) addRecord(all, record);
  return all;
}

/**
 * What a peel knows of operators: the records that it has, and those of a message. An older one than it has counts
 * nowhere: otherwise a stolen master brings a disabled operator back.
 */
export function standingOf(
  given: readonly SignedOperatorRecord[],
  seen: SeenRecords,
  administrators: readonly Administrator[],
): Standing {
  const all = withRecords(seen, given);
  const current = [...all].flatMap(([key, record]) => (key === record.name ? [record] : []));
  return {
    administrators,
    find: (name) => all.get(name),
    removed: (name, publicKey) => all.get(lastRecordKey({ name, publicKey })),
    holdersOf: (key) => current.filter(({ publicKey }) => publicKey === key),
    versionFloor: (name) => seen.get(name)?.version ?? 0,
    isSigned: isSignedOperator,
  };
}

/**
 * The records of a message that are newer than those that a peel has, and that lead to an administrator. One that
 * does not must not be stored: with a forged one of a great version, any master would lock an operator out.
 */
export function provenRecords(
  given: readonly SignedOperatorRecord[],
  seen: SeenRecords,
  administrators: readonly Administrator[],
  at: number,
): SignedOperatorRecord[] {
  const standing = standingOf(given, seen, administrators);
  const isCounted = (record: SignedOperatorRecord) =>
    standing.find(record.name) === record || standing.removed(record.name, record.publicKey) === record;
  return given.filter(
    (record) => isCounted(record) && standing.isSigned(record) && isVouched(standing, record, at),
  );
}

function isVouched(standing: Standing, record: SignedOperatorRecord, at: number): boolean {
  const { administrators } = standing;
  const listed = administrators.find(({ name }) => name === record.name);
  if (listed === undefined) return chainAbove(standing, record, at) !== undefined;
  // Only another key of the list says something about an administrator of the list.
  const isByAnother = administrators.some(
    ({ name, publicKey }) => publicKey === record.key && name !== record.name,
  );
  return isByAnother && listed.publicKey === record.publicKey;
}
