import type { Log, LogFields } from "../../internal/base/log.ts";

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
      records.push({ level, event, fields: { ...base, ...fields } });
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
