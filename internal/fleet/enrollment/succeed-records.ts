import * as v from "valibot";
import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import type { Entry } from "../../bus/storage/mod.ts";
import { decodeRecord, type Enrollment, encodeRecord, memberStates } from "./record/mod.ts";
import { decodeIndex, isVouched, mapOf, parseKey, type Vouchers } from "./store/mod.ts";

// A fleet that succeeds another one takes over its members. The first master of the new fleet vouches for them,
// and each peel gets its credentials by recovery.

/** What a new fleet takes over from the records of another one. */
export interface Succeeded {
  records: Enrollment[];
  /** IDs of the members that no master of that fleet vouches for. They are not taken over. */
  tampered: string[];
  /** Whether no record belongs to that fleet: the vouchers of all were made by another one. */
  isForeign: boolean;
}

/**
 * Takes over the members among the stored records.
 *
 * @param entries of the bucket `enrollments`
 * @param options.vouchers of the fleet that is succeeded
 * @param options.operator who decides it
 */
export function succeedRecords(
  entries: readonly Pick<Entry, "key" | "value">[],
  options: { vouchers: Vouchers; operator: string; now: number },
): Succeeded {
  const index = indexOf(entries);
  const records: Enrollment[] = [];
  const tampered: string[] = [];
  let vouched = 0;
  let found = 0;
  for (const { key, value } of entries) {
    if (!("id" in parseKey(key))) continue;
    const counts = isVouched(key, mapOf(value), options.vouchers);
    if (counts) vouched++;
    found++;
    const record = recordOf(key, value);
    const isMember =
      record !== undefined && memberStates.has(record.state) && index.get(record.peelId) === record.id;
    if (!isMember) continue;
    if (counts) records.push(succeed(record, options));
    else tampered.push(record.id);
  }
  return { records, tampered, isForeign: vouched === 0 && found > 0 };
}

/** When the newest of the records changed, milliseconds since the Unix epoch; 0 without any. */
export function newestChange(entries: readonly Pick<Entry, "key" | "value">[]): number {
  return Math.max(0, ...entries.map(({ key, value }) => recordOf(key, value)?.updatedAt ?? 0));
}

/** The identity of the peel stays. What the previous fleet issued, saw and signed ends with it. */
function succeed(record: Enrollment, { operator, now }: { operator: string; now: number }): Enrollment {
  const {
    issuedAt: _issuedAt,
    activatedAt: _activatedAt,
    credsExpiresAt: _credsExpiresAt,
    busPublicKey: _busPublicKey,
    busKeys: _busKeys,
    renewedAt: _renewedAt,
    renewals: _renewals,
    recoveredAt: _recoveredAt,
    recoveries: _recoveries,
    cloneSuspected: _cloneSuspected,
    cloneSeenAt: _cloneSeenAt,
    trustedCaSpki: _trustedCaSpki,
    trustSignature: _trustSignature,
    trustMismatch: _trustMismatch,
    direct: _direct,
    identityVoucher: _identityVoucher,
    decisionVoucher: _decisionVoucher,
    ...kept
  } = record;
  return {
    ...kept,
    state: "approved",
    succeeded: true,
    decidedBy: operator,
    decidedAt: now,
    updatedAt: Math.max(now, record.updatedAt + 1),
  };
}

function indexOf(entries: readonly Pick<Entry, "key" | "value">[]): Map<string, string> {
  const index = new Map<string, string>();
  for (const entry of entries) {
    const key = parseKey(entry.key);
    if ("peelId" in key) index.set(key.peelId, attempt(() => decodeIndex(entry)) ?? "");
  }
  return index;
}

function recordOf(key: string, value: Uint8Array): Enrollment | undefined {
  if (!("id" in parseKey(key))) return undefined;
  const record = attempt(() => decodeRecord(value));
  return record?.id === key ? record : undefined;
}

const file = v.object({ v: v.literal(1), serial: v.number(), records: v.array(v.string()) });

/** The records as `svc fleet succeed` hands them to the first master. */
export function formatSucceeded(serial: number, records: readonly Enrollment[]): string {
  const encoded = records.map((record) => encodeBase64(encodeRecord(record)));
  return `${JSON.stringify({ v: 1, serial, records: encoded }, undefined, 1)}\n`;
}

/** @throws SvcError `bad_request` when the text is something else */
export function parseSucceeded(path: string, text: string): { serial: number; records: Enrollment[] } {
  try {
    const { serial, records } = v.parse(file, JSON.parse(text));
    return { serial, records: records.map((one) => decodeRecord(decodeBase64(one) ?? new Uint8Array())) };
  } catch {
    throw new SvcError(
      "bad_request",
      `${path} is damaged: copy it again from the directory that svc fleet succeed wrote`,
    );
  }
}
