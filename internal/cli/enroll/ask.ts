import { type Bucket, type Bus, openBucket } from "../../bus/mod.ts";

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

/** Opens the bucket of the records, for what is read or written without a master. */
export function openEnrollments(bus: Bus): Promise<Bucket> {
  return openBucket(bus, "enrollments");
}
