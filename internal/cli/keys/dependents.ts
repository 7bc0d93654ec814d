import { type Bus, openBucket } from "../../bus/mod.ts";
import { type Enrollment, readEnrollments } from "../../fleet/enrollment/mod.ts";

/**
 * The peels whose credentials were issued before a moment and have not expired, by encoded id: they were signed by
 * the key before.
 *
 * @param since milliseconds since the Unix epoch
 */
export function dependentsOf(records: readonly Enrollment[], since: number, now: number): string[] {
  return records
    .filter(({ state, credsExpiresAt }) => isMember(state) && (credsExpiresAt ?? 0) > now)
    .filter((record) => issuedAt(record) < since)
    .map(({ peelId }) => peelId)
    .sort();
}

/** When the credentials in use were issued. */
function issuedAt(record: Enrollment): number {
  const { issuedAt: first, renewedAt, recoveredAt, rekeyedAt } = record;
  return Math.max(first ?? 0, renewedAt ?? 0, recoveredAt ?? 0, rekeyedAt ?? 0);
}

const isMember = (state: string): boolean => state === "issued" || state === "active";

/** All enrollments. @throws SvcError `storage` */
export async function readRecords(bus: Bus): Promise<Enrollment[]> {
  return readEnrollments(await openBucket(bus, "enrollments"));
}
