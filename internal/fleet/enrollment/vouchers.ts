import type { Plain } from "../../base/msgpack.ts";
import { isEqualMac, type RecordMac } from "../../identity/mod.ts";
import { decodeMap, type Enrollment, encodeRecord, type StoredMap } from "./record.ts";

// Enrollment records are stored on the bus, where others can write. So each record has two MACs of a master: one
// over the identity of the peel, one over the decision. A record that does not match them counts for nothing.

/** Whether a master wrote this record. One of an earlier version has no MACs and is `unvouched`. */
export type Standing = "vouched" | "unvouched" | "tampered";

/** Marks records that are written, and judges records that are read. */
export interface Vouchers {
  mark(record: Enrollment): Enrollment;
  judge(stored: StoredMap): Standing;
  /** Whether a direct decision may count, as far as who made it; absent where everyone may make one. */
  mayDecide?(direct: Enrollment): boolean;
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
  return {
    mark(record) {
      // As readers get it: not every key that a peel may send survives the encoding as it is.
      const stored = decodeMap(encodeRecord(record));
      const identityVoucher = identityOf(stored);
      return { ...record, identityVoucher, decisionVoucher: decisionOf(stored, identityVoucher) };
    },
    judge(stored) {
      const { identity_voucher: identityFound, decision_voucher: decisionFound } = stored;
      if (identityFound === undefined && decisionFound === undefined) return "unvouched";
      const identity = identityOf(stored);
      const fits = isMac(identity, identityFound) && isMac(decisionOf(stored, identity), decisionFound);
      return fits ? "vouched" : "tampered";
    },
  };
}

/** For `svc`, which has no key: it marks its records as direct decisions. */
export const directVouchers: Vouchers = {
  mark: (record) => ({ ...record, direct: true }),
  judge: () => "vouched",
};

function isMac(expected: Uint8Array, found: unknown): boolean {
  return found instanceof Uint8Array && isEqualMac(expected, found);
}

/** Names and values, without those that are absent. */
function contentOf(stored: StoredMap, names: readonly string[]): Plain {
  return names.flatMap((name) => (stored[name] === undefined ? [] : [[name, stored[name] as Plain]]));
}
