import type { Plain } from "../../base/msgpack.ts";
import { isEqualMac, type RecordMac } from "../../identity/mod.ts";
import { type Enrollment, type StoredMap, toMap } from "./record.ts";

// Records of enrollments lie on the bus, where others than masters may write. So each carries two MACs of a
// master: one over who the peel is, one over what was decided. A record that they do not fit counts for nothing.

/**
 * Whether masters made a record as it is: `vouched`; without any MAC, as records of versions before are:
 * `unvouched`; or otherwise.
 */
export type Standing = "vouched" | "unvouched" | "tampered";

/** How whoever writes records marks them, and judges those that others wrote. */
export interface Vouchers {
  mark(record: Enrollment): Enrollment;
  judge(stored: StoredMap): Standing;
}

/**
 * What says who the peel is, by stored name. All the rest of a record belongs to the decision, known to this
 * version or not: so it also judges the records of a later version.
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
  // With the identity in it, no half of one revision fits the other half of another.
  const decisionOf = (stored: StoredMap, identityVoucher: Uint8Array) => {
    const names = Object.keys(stored).filter((name) => !notOfDecision.has(name));
    return mac("enrollment-decision", [identityVoucher, contentOf(stored, names.sort())]);
  };
  return {
    mark(record) {
      const stored = toMap(record);
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

/** For `svc`, which writes to storage where no master runs: it has no key, and says so in the record. */
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
