import { describeError } from "../../internal/base/errors.ts";
import type { Log, LogFields } from "../../internal/base/log.ts";
import { type KeptLog, runRecord } from "./run-record.ts";

export interface LogRecord {
  level: string;
  event: string;
  fields: LogFields;
}

/** A log that remembers, for tests that look at what was said. */
export function recordingLog(
  records: LogRecord[] = [],
  base: LogFields = {},
): Log & { records: LogRecord[] } {
  const emit =
    (level: string) =>
    (event: string, fields: LogFields = {}) => {
      const record = { level, event, fields: { ...base, ...fields } };
      keep(record);
      records.push(record);
    };
  return {
    records,
    debug: emit("debug"),
    info: emit("info"),
    warn: emit("warn"),
    error: emit("error"),
    with: (fields) => recordingLog(records, { ...base, ...fields }),
  };
}

let kept: { by: string; log: KeptLog } | undefined;

/** As it is, without what masks secrets in a real log: no field is meant to carry one. */
function keep(record: LogRecord): void {
  if (kept?.by !== Bun.main) {
    kept?.log.close();
    kept = { by: Bun.main, log: runRecord.openLog("recorded") };
  }
  kept.log.write(
    `${JSON.stringify(record, (_, value) => (value instanceof Error ? describeError(value) : value))}\n`,
  );
}
