import * as v from "valibot";
import { idPattern } from "../base/id.ts";
import { foreign } from "../base/msgpack.ts";
import { type RecordOf, record } from "../base/record.ts";
import { optional } from "../base/record-kinds.ts";
import { described, timestamp } from "../base/schema.ts";
import { runTriggers } from "../host/modules/mod.ts";
import { snapshotDigest } from "./content.ts";

/** The largest report that the bucket takes, bytes. */
export const maxReportBytes = 64 * 1024;
/** States that a report names, at most. */
export const maxNamed = { failures: 20, drift: 50 } as const;
/** Characters of the texts of a report. */
export const maxLength = { id: 256, function: 128, file: 256, comment: 500, environment: 128 } as const;

/** More than any run has. */
const maxStates = 1_000_000;
const maxRunMs = 366 * 24 * 60 * 60 * 1000;

const text = (max: number) => v.pipe(v.string(), v.maxLength(max));
const count = (description: string) =>
  v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(maxStates), v.description(description));

/** The environment and the commit of the files of a run, as fields. */
export const filesFields = {
  environment: described(text(maxLength.environment), "Environment of the state files"),
  commit: described(
    v.pipe(v.string(), v.regex(/^(?:[0-9a-f]{7,64})?$/)),
    "Commit of the state files; empty when they come from none, or from several",
  ),
} as const;

const ran = {
  run_at: described(timestamp, "When the run began, by the clock of the peel"),
  trigger: described(v.picklist(runTriggers), "What the run began for"),
  jid: optional(
    described(
      v.pipe(v.string(), v.regex(new RegExp(idPattern("job")), "is not the id of a job")),
      "The job, or the run of the schedule",
    ),
  ),
  ...filesFields,
  /** Absent in reports of the version before, and where the files have no digest. */
  snapshot: optional(snapshotDigest),
  test: described(v.boolean(), "Whether the run only reported what would change"),
  ok: count("States that were as described"),
  changed: count("States that the run corrected"),
  failed: count("States that failed, and one more where the run did not get to its end"),
  skipped: count("States that did not run because of a requisite or a condition"),
  would_change: count("States that a test run would change"),
  duration_ms: v.pipe(
    v.number(),
    v.minValue(0),
    v.maxValue(maxRunMs),
    v.description("How long the run took"),
  ),
} as const;

/** What a run did, without the names of states. */
export const runOnly = record("run", ran);

const named = { id: text(maxLength.id), function: text(maxLength.function) };

/** The states that a report names. */
export const namedStates = {
  failures: described(
    v.pipe(
      v.array(
        v.object({
          ...named,
          file: text(maxLength.file),
          line: v.pipe(v.number(), v.integer(), v.minValue(0)),
          comment: text(maxLength.comment),
        }),
      ),
      v.maxLength(maxNamed.failures),
    ),
    "The first states that failed",
  ),
  drift: described(
    v.pipe(v.array(v.object(named)), v.maxLength(maxNamed.drift)),
    "The first states that were changed, or would be",
  ),
} as const;

const fields = { ...ran, ...namedStates } as const;

/**
 * What a peel reports of a run of states, as it is stored in the bucket `compliance`. Nothing in it is more than a
 * claim of that peel.
 */
export type Report = RecordOf<typeof fields>;

const stored = record("report", fields, { isOpen: true, limits: foreign(maxReportBytes) });

/** @throws when the bytes are not a report: a peel may send anything */
export const decodeReport = stored.decode;

/** The bytes of a report. One that is too large names fewer states. */
export function encodeReport(report: Report): Uint8Array {
  for (let { drift, failures } = report; ; ) {
    const bytes = stored.encode({ ...report, drift, failures });
    if (bytes.length <= maxReportBytes || drift.length + failures.length === 0) return bytes;
    if (drift.length > 0) drift = drift.slice(0, Math.floor(drift.length / 2));
    else failures = failures.slice(0, Math.floor(failures.length / 2));
  }
}
