import { type Enrollment, encodeRecord } from "../../internal/fleet/enrollment/record/record.ts";

/** The id of an enrollment, from a short name. */
export const enrollmentId = (name: string): string => `enr-${name.padStart(27, "0")}`;

/** An enrollment record with everything that a test does not care about. */
export function sampleRecord(name: string, fields: Partial<Enrollment> = {}): Enrollment {
  return {
    id: enrollmentId(name),
    peelId: `peel-${name}`,
    publicKey: "U",
    curvePublicKey: "X",
    state: "approved",
    createdAt: 1_000,
    updatedAt: 1_000,
    ...fields,
  };
}

/** The same as a log or a bucket has it. */
export function sampleStored(name: string, fields: Partial<Enrollment> = {}) {
  return {
    bucket: "enrollments" as const,
    key: enrollmentId(name),
    value: encodeRecord(sampleRecord(name, fields)),
  };
}
