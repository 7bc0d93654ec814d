import type { Plain } from "../../../base/msgpack.ts";
import { isEqualMac, type RecordMac } from "../../../identity/mod.ts";
import { decodeMap, type Enrollment, encodeRecord, type StoredMap } from "../record/mod.ts";

// Enrollment records are stored on the bus, where others can write. So each record has two MACs of a master: one
// over the identity of the peel, one over the decision. A record without them, or one that does not match them,
// is ignored.

/** Marks records that are written, and judges records that are read. */
export interface Vouchers {
  mark(record: Enrollment): Enrollment;
  /** The same, with its stored form as readers get it; absent where that is not known before. */
  seal?(record: Enrollment): Sealed;
  /** Whether a master wrote this record. */
  fits(stored: StoredMap): boolean;
  /** Whether a direct decision may count, judged by its author; absent where everyone may make one. */
  mayDecide?(direct: Enrollment): boolean;
}

/** A record with its vouchers. */
export interface Sealed {
  record: Enrollment;
  /** What its bytes decode to, and what they are encoded from. */
  stored: StoredMap;
}

/**
 * The identity of the peel, by stored name. All other fields belong to the decision, also unknown ones, so that
 * this version can judge records of a later version.
 */
const identityNames = [
  "bus_keys",
  "bus_public_key",
  "curve_public_key",
  "enroll_challenge",
  "enroll_signature",
  "id",
  "labels",
  "peel_id",
  "public_key",
];
const notOfDecision: ReadonlySet<string> = new Set([
  ...identityNames,
  "identity_voucher",
  "decision_voucher",
]);

/** The vouchers of masters. */
export function createVouchers(mac: RecordMac): Vouchers {
  const identityOf = (stored: StoredMap) => mac("enrollment-identity", contentOf(stored, identityNames));
  // It includes the identity, so that parts of two revisions cannot be combined.
  const decisionOf = (stored: StoredMap, identityVoucher: Uint8Array) => {
    const names = Object.keys(stored).filter((name) => !notOfDecision.has(name));
    return mac("enrollment-decision", [identityVoucher, contentOf(stored, names.sort())]);
  };
  /** What was judged or sealed already: many parts of a master look at the same stored form. */
  const known = new WeakMap<StoredMap, boolean>();
  const matches = (stored: StoredMap): boolean => {
    const { identity_voucher: identityFound, decision_voucher: decisionFound } = stored;
    const identity = identityOf(stored);
    return isMac(identity, identityFound) && isMac(decisionOf(stored, identity), decisionFound);
  };
  const seal = (record: Enrollment): Sealed => {
    const { identityVoucher: _, decisionVoucher: __, ...rest } = record;
    // As readers get it: not every key that a peel may send survives the encoding as it is.
    const read = decodeMap(encodeRecord(rest));
    const identityVoucher = identityOf(read);
    const decisionVoucher = decisionOf(read, identityVoucher);
    const stored = { ...read, identity_voucher: identityVoucher, decision_voucher: decisionVoucher };
    known.set(stored, true);
    return { record: { ...rest, identityVoucher, decisionVoucher }, stored };
  };
  return {
    seal,
    mark: (record) => seal(record).record,
    fits(stored) {
      const fits = known.get(stored) ?? matches(stored);
      known.set(stored, fits);
      return fits;
    },
  };
}

/** For `svc`, which has no key: it marks its records as direct decisions. */
export const directVouchers: Vouchers = {
  mark: (record) => ({ ...record, direct: true }),
  fits: () => true,
};

function isMac(expected: Uint8Array, found: unknown): boolean {
  return found instanceof Uint8Array && isEqualMac(expected, found);
}

/** Names and values, without those that are absent. */
function contentOf(stored: StoredMap, names: readonly string[]): Plain {
  return names.flatMap((name) => (stored[name] === undefined ? [] : [[name, stored[name] as Plain]]));
}

/** Whether what is stored under the ID of an enrollment is a record that a master wrote. */
export function isVouched(
  id: string,
  stored: StoredMap | undefined,
  vouchers: Pick<Vouchers, "fits">,
): boolean {
  return stored !== undefined && stored.id === id && vouchers.fits(stored);
}
