import { defined } from "../../../base/defined.ts";
import {
  decodeMap,
  type EnrollmentSummary,
  type KnownEnrollment,
  readSummary,
  type StoredMap,
} from "../record/mod.ts";
import { type Enrollments, readingOf } from "./store.ts";
import { isVouched } from "./vouchers.ts";

/** A record as the directory keeps it. */
export type Listed = KnownEnrollment & {
  /** It claims to be a direct decision. */
  direct?: true;
  /** It is in the count of its state. */
  counted?: boolean;
};

/**
 * Reads a stored record. One without a valid voucher of a master is `TAMPERED`.
 *
 * @throws when it is malformed, where no master vouches for records
 */
export function readListed(enrollments: Enrollments, id: string, value: Uint8Array): Listed {
  const { vouchers } = enrollments;
  if (vouchers === undefined) return readSummary(decodeMap(value));
  const stored = readingOf(enrollments, { key: id, value }).map;
  if (stored !== undefined && isVouched(id, stored, vouchers)) return readSummary(stored);
  const direct = stored?.direct === true ? { direct: true as const } : {};
  return { ...readableOf(stored), ...direct, id, trust: "TAMPERED" };
}

/** The fields of a list. */
export function shownOf(record: Listed): EnrollmentSummary {
  const { id, peel_id, hostname, state, created_at, trust, fingerprint } = record;
  const { address, evidence, proved_by, trusted_ca_spki, former_labels } = record;
  return {
    ...{ id, peel_id, hostname, state, created_at, trust, fingerprint },
    ...defined({ address, evidence, proved_by, trusted_ca_spki, former_labels }),
  };
}

/** No master vouches for it. */
export const isTampered = ({ trust }: Listed) => trust === "TAMPERED";

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
