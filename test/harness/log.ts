import { describeError } from "../../internal/base/errors.ts";
import type { Log, LogFields } from "../../internal/base/log.ts";
import { type KeptLog, runRecord } from "./run-record.ts";

export interface LogRecord {
  level: string;
  event: string;
  fields: LogFields;
}

/** A log that keeps its records, for tests that inspect them. */
export function recordingLog(
  records: LogRecord[] = [],
  base: LogFields = {},
): Log & { records: LogRecord[] } {
  const emit =
    (level: string) =>
    (event: string, fields: LogFields = {}) => {
      const record = { level, event, fields: { ...base, ...fields } };
      save(record);
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

/** The plain records, without the masking of a real log: no field should carry a secret. */
function save(record: LogRecord): void {
  if (kept?.by !== Bun.main) {
    kept?.log.close();
    kept = { by: Bun.main, log: runRecord.openLog("recorded") };
  }
  kept.log.write(
    `${JSON.stringify(record, (_, value) => (value instanceof Error ? describeError(value) : value))}\n`,
  );
}
