import { type ConsolaInstance, createConsola, LogLevels } from "consola/core";
import { type Clock, rfc3339 } from "./clock.ts";
import { describeError } from "./errors.ts";
import { escapeInvisible, invisible } from "./invisible.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];
/** Forms of a line. */
const lineFormats = ["json", "text"] as const;
/** Forms of a log; `journal` sends fields to the journal of the system (see journal.ts). */
export const logFormats = [...lineFormats, "journal"] as const;
export type LogFormat = (typeof lineFormats)[number];

/** Fields of a log record; an `Error` is written as one line with its causes. */
export type LogFields = Record<string, unknown>;

/** A structured log: an event name or sentence, and fields. */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** A log that adds these fields to every record. */
  with(fields: LogFields): Log;
}

/** One record. */
export interface LogRecord {
  /** RFC 3339. */
  time: string;
  level: LogLevel;
  event: string;
  /** Without absent ones; errors are texts. They may contain secrets and anything that a client sent. */
  fields: LogFields;
}

export interface LogOptions {
  level: LogLevel;
  format: LogFormat;
  clock: Clock;
  /** Writes one record, including its line end. */
  write: (line: string) => void;
}

/** Creates a log that writes one line per record, as JSON or as text. */
export function createLog({ format, write, ...options }: LogOptions): Log {
  const lineOf = format === "json" ? jsonLine : textLine;
  return createRecordLog({ ...options, take: (record) => write(`${redact(lineOf(record))}\n`) });
}

/** A record as a line of JSON, with its secrets masked. */
export const jsonRecord = (record: LogRecord): string => `${redact(jsonLine(record))}\n`;

/** Creates a log whose records someone else writes. @param options.take masks the secrets */
export function createRecordLog(
  options: Pick<LogOptions, "level" | "clock"> & { take(record: LogRecord): void },
): Log {
  const consola = createConsola({
    level: LogLevels[options.level],
    // Consola folds repeated records by default; a log must not lose any.
    throttle: 0,
    reporters: [
      {
        log(record) {
          const [event, fields] = record.args as [string, LogFields];
          const time = rfc3339(options.clock.now());
          options.take({ time, level: record.type as LogLevel, event, fields: plain(fields) });
        },
      },
    ],
  });
  return wrap(consola, {});
}

function wrap(consola: ConsolaInstance, base: LogFields): Log {
  const emit =
    (level: LogLevel) =>
    (event: string, fields: LogFields = {}) => {
      // Consola would look as well, after work that most records at this level do not need.
      if (LogLevels[level] > consola.level) return;
      consola[level](event, { ...base, ...fields });
    };
  return {
    debug: emit("debug"),
    info: emit("info"),
    warn: emit("warn"),
    error: emit("error"),
    with: (fields) => wrap(consola, { ...base, ...fields }),
  };
}

function jsonLine({ time, level, event, fields }: LogRecord): string {
  const head = { time, level, msg: event };
  // First, where people look, and last, so that no field replaces them. Control characters can occur only
  // inside strings here. The ones that JSON permits are escaped as well.
  return escapeInvisible(JSON.stringify({ ...head, ...fields, ...head }));
}

function textLine(record: LogRecord): string {
  return [record.time, record.level.toUpperCase().padEnd(5), messageOf(record)].join(" ");
}

/** The event and its fields on one line, whatever these contain. */
export function messageOf({ event, fields }: Pick<LogRecord, "event" | "fields">): string {
  const pairs = Object.entries(fields).map(([key, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `${key}=${isPlainWord(text) ? text : escapeInvisible(JSON.stringify(text))}`;
  });
  return [oneLine(event), ...pairs].join(" ");
}

function plain(fields: LogFields): LogFields {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, value instanceof Error ? describeError(value) : value]),
  );
}

function oneLine(text: string): string {
  return text.replace(invisible, " ");
}

function isPlainWord(text: string): boolean {
  return /^[^\s"=]+$/.test(text) && text.search(invisible) < 0;
}

// The last line of defense: no field should carry a secret, and a secret in a field is masked.
const secrets = [
  /\bS[OAUXNC][A-Z2-7]{56}\b/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-----END [A-Z ]*PRIVATE KEY-----/g,
  /\bsvcjoin1\.[A-Za-z0-9_-]+/g,
];

/** Matches part of every secret. Almost no text matches, so one test is usually enough. */
const suspicious = /S[OAUXNC][A-Z2-7]{56}|eyJ|PRIVATE KEY|svcjoin1\./;

/** Masks key seeds, JWTs, private keys and join tokens in a text. */
export function redact(text: string): string {
  if (!suspicious.test(text)) return text;
  return secrets.reduce((line, pattern) => line.replace(pattern, "[redacted]"), text);
}
