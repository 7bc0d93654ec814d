import { createBoundedMap } from "../../../base/bounded-map.ts";
import { decodeJob, encodeJob, type Job } from "./record.ts";

/** What records take that were written and not seen yet, bytes: the watch repeats each within milliseconds. */
const maxBytes = 16 * 1024 * 1024;

/**
 * Records of jobs that this master writes. Its watch repeats each of them: what has the same bytes is the same job, and
 * is not decoded again.
 */
export interface OwnRecords {
  /** Encodes a record that is about to be written. It must not be changed from then on. */
  encode(job: Job): Uint8Array;
  /**
   * Reads a record that the watch shows.
   *
   * @throws when it is malformed
   */
  decode(jid: string, bytes: Uint8Array): Job;
}

export function createOwnRecords(): OwnRecords {
  const written = createBoundedMap<{ job: Job; bytes: Uint8Array }>(maxBytes);
  return {
    encode(job) {
      const bytes = encodeJob(job);
      written.set(job.jid, { job, bytes }, bytes.length);
      return bytes;
    },
    decode(jid, bytes) {
      const own = written.get(jid);
      if (own === undefined || Buffer.compare(own.bytes, bytes) !== 0) return decodeJob(bytes);
      written.delete(jid);
      return own.job;
    },
  };
}
