/** The buckets whose records are decisions: what they lose is restored from the logs of the masters. */
export const decisionBuckets = ["enrollments", "revocations", "releases", "operators"] as const;
export type DecisionBucket = (typeof decisionBuckets)[number];

/** Whether this version compares decisions of this bucket with the bus. */
export const isDecisionBucket = (bucket: string): bucket is DecisionBucket =>
  decisionBuckets.some((one) => one === bucket);

/** One stored record, as the bus holds it: its bytes mean nothing to the log. */
export interface Decision {
  /** When this master logged it, milliseconds since the Unix epoch. */
  at: number;
  /** A log keeps also what it does not know: decisions of another kind, which a later version made. */
  bucket: string;
  key: string;
  /** Absent when the record was removed. */
  value?: Uint8Array;
}

/** What a record is called in the log: a later decision about the same record replaces an earlier one. */
export const nameOf = ({ bucket, key }: Pick<Decision, "bucket" | "key">): string => `${bucket}/${key}`;
