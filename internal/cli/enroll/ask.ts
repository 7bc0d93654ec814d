import { SvcError } from "../../base/errors.ts";
import { type Bucket, openBucket } from "../../bus/bucket.ts";
import type { Bus } from "../../bus/connect.ts";
import { type AdminAction, adminSubject } from "../../bus/subjects.ts";
import type { Enrollment } from "../../fleet/enrollment/record.ts";
import { decodeEnrollmentReply } from "../../master/doors/bus/message.ts";
import { askMasters } from "../ask-masters.ts";

/** The argument that every changing command of the group takes. */
export const directArg = {
  type: "boolean",
  description: "Write to storage directly, for use when no master runs",
} as const;

export const idArg = {
  type: "positional",
  required: true,
  description: "Enrollment id, enr-…",
  ids: "enrollments",
} as const;

/**
 * Asks the masters to change an enrollment.
 *
 * @throws SvcError what the master answered, or `unavailable` when none did
 */
export async function askMaster(
  bus: Bus,
  action: AdminAction,
  request: { id: string; reason?: string | undefined; force?: boolean },
): Promise<{ record: Enrollment; closedInMs?: number }> {
  const answer = await askMasters(bus, adminSubject(action), request, decodeEnrollmentReply);
  if (answer !== undefined) return answer;
  throw new SvcError(
    "unavailable",
    "no master is answering: start one, or use --direct-kv to write to storage from here",
  );
}

/** Opens the bucket of the records, for what is read or written without a master. */
export function openEnrollments(bus: Bus): Promise<Bucket> {
  return openBucket(bus, "enrollments");
}
