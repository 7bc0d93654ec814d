import { decodeMap, type StoredMap } from "./record.ts";
import type { Vouchers } from "./vouchers.ts";

/**
 * Whether the fleet enforces vouchers. While the adoption is `awaited`, masters of an earlier version may run,
 * which write records without vouchers. While it is `withheld`, an operator has not allowed it yet: records
 * without vouchers count for nothing, and can still be adopted.
 */
export type Adoption = "awaited" | "withheld" | "done";

/**
 * What a stored record is worth. A `vouched` one was written by a master. An `unvouched` one counts while the
 * adoption is awaited, as in earlier versions. A `tampered` one counts for nothing.
 */
export type Verdict = "vouched" | "unvouched" | "tampered";

/** How records are judged. */
export interface Judging {
  vouchers: Vouchers;
  adoption: Adoption;
}

/**
 * Judges what is stored under the ID of an enrollment.
 *
 * @param stored `undefined` when it is not a map
 */
export function judgeRecord(
  id: string,
  stored: StoredMap | undefined,
  { vouchers, adoption }: Judging,
): Verdict {
  if (stored === undefined || stored.id !== id) return "tampered";
  if (vouchers.judge(stored) === "vouched") return "vouched";
  return adoption === "done" ? "tampered" : "unvouched";
}

/** Judges an entry of the bucket `enrollments` that is not an index. */
export function judgeEntry({ key, value }: { key: string; value: Uint8Array }, judging: Judging): Verdict {
  return judgeRecord(key, mapOf(value), judging);
}

/** Whether a record of this worth counts. */
export function counting(verdict: Verdict, adoption: Adoption): boolean {
  return verdict === "vouched" || (verdict === "unvouched" && adoption === "awaited");
}

/** The stored form; `undefined` when it is not a map. */
export function mapOf(value: Uint8Array): StoredMap | undefined {
  try {
    return decodeMap(value);
  } catch {
    return undefined;
  }
}
