import type { Administrator } from "../../wire/administrators.ts";
import { isSignedOperator, type SignedOperatorRecord } from "../../wire/operator-record.ts";
import { chainAbove, type Standing } from "../../wire/operator-standing.ts";

/** Records of operators by name, each in the greatest version that this peel has seen. */
export type SeenRecords = ReadonlyMap<string, SignedOperatorRecord>;

/**
 * What a peel knows of operators: the records that it has, and those of a message. An older one than it has counts
 * nowhere: otherwise a stolen master brings a disabled operator back.
 */
export function standingOf(
  given: readonly SignedOperatorRecord[],
  seen: SeenRecords,
  administrators: readonly Administrator[],
): Standing {
  const newest = new Map(seen);
  for (const record of given) {
    if (record.version > (newest.get(record.name)?.version ?? 0)) newest.set(record.name, record);
  }
  const records = [...newest.values()];
  return {
    administrators,
    find: (name) => newest.get(name),
    holdersOf: (key) => records.filter(({ publicKey }) => publicKey === key),
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
  return given.filter((record) => {
    if (record.version <= standing.versionFloor(record.name)) return false;
    return (
      standing.find(record.name) === record && standing.isSigned(record) && isVouched(standing, record, at)
    );
  });
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
