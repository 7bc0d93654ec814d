import type { Clock } from "../clock.ts";
import { escapeInvisible } from "../invisible.ts";
import {
  createRecordLog,
  jsonRecord,
  type Log,
  type LogLevel,
  type LogRecord,
  messageOf,
  redact,
} from "../log.ts";
import { openDatagrams } from "./datagrams.ts";

/** Where systemd-journald takes entries of its native protocol. */
const journalSocket = "/run/systemd/journal/socket";

/** Levels of syslog(3). */
const priorities: Record<LogLevel, number> = { error: 3, warn: 4, info: 6, debug: 7 };
/** The kernel takes datagrams of some 200 KiB. */
const maxValue = 32 * 1024;
const maxEntry = 128 * 1024;
const maxName = 64;
/** Fields without a place that an entry names. */
const maxListed = 64;
/** Names that mean something to the journal (systemd.journal-fields(7)). */
const reserved =
  /^(?:MESSAGE|MESSAGE_ID|PRIORITY|ERRNO|TID|UNIT|USER_UNIT|DOCUMENTATION|INVOCATION_ID|CODE_|SYSLOG_|OBJECT_|COREDUMP_|SVC_)/;

/**
 * Creates a log that sends each record to the journal of the system, with its fields as fields of the journal.
 *
 * @param options.program `SYSLOG_IDENTIFIER`
 * @param options.write gets the records that the journal does not take, as lines of JSON
 * @param options.socket for tests
 */
export function createJournalLog(options: {
  program: string;
  level: LogLevel;
  clock: Clock;
  write(line: string): void;
  socket?: string;
}): Log {
  const { program, socket = journalSocket, write } = options;
  const journal = openDatagrams(socket);
  let isTaking = true;
  const take = (record: LogRecord) => {
    const isTaken = journal?.send(journalEntry(record, program)) ?? false;
    if (isTaken !== isTaking) {
      isTaking = isTaken;
      if (!isTaken) log.error("the journal takes no records: they are on standard error", { socket });
      else log.info("the journal takes records again", { socket });
    }
    if (!isTaken) write(jsonRecord(record));
  };
  const log = createRecordLog({ ...options, take });
  return log;
}

/**
 * An entry of the native protocol of the journal. Its message is the record on one line. Secrets are masked, and every
 * character that acts on a terminal is spelled out. What is too long is cut; `SVC_TRUNCATED` names it.
 *
 * @param program `SYSLOG_IDENTIFIER`
 */
export function journalEntry(record: LogRecord, program: string): Buffer {
  const { level, event, fields } = record;
  const cut: string[] = [];
  let left = maxEntry;
  const line = (name: string, text: string): string => {
    // The same for all values: none contains a line end, which would begin another field.
    const value = escapeInvisible(redact(text));
    const max = Math.max(0, Math.min(maxValue, left));
    const short = Buffer.byteLength(value) <= max ? value : shortened(value, max);
    if (short !== value) cut.push(name);
    left -= Buffer.byteLength(short) + name.length + 2;
    return `${name}=${short}\n`;
  };
  const head = [
    line("MESSAGE", messageOf(record)),
    line("PRIORITY", String(priorities[level])),
    line("SYSLOG_IDENTIFIER", program),
    line("SVC_EVENT", event),
  ];
  const rest: string[] = [];
  for (const [key, value] of Object.entries(fields)) {
    if (left <= maxName) cut.push(nameOf(key));
    else rest.push(line(nameOf(key), typeof value === "string" ? value : (JSON.stringify(value) ?? "")));
  }
  const truncated = cut.length === 0 ? [] : [`SVC_TRUNCATED=${cut.slice(0, maxListed).join(" ")}\n`];
  return Buffer.from([...head, ...rest, ...truncated].join(""));
}

/** The name of a field as the journal takes it: capitals, digits and `_`, and nothing that it uses itself. */
function nameOf(key: string): string {
  const name = key
    .toUpperCase()
    .replace(/[^A-Z0-9_]/g, "_")
    .replace(/^[_0-9]+/, "")
    .slice(0, maxName - 4);
  return name === "" || reserved.test(name) ? `SVC_${name === "" ? "FIELD" : name}` : name;
}

/** The beginning of a text, in whole characters. */
function shortened(text: string, bytes: number): string {
  return Buffer.from(text)
    .subarray(0, bytes)
    .toString()
    .replace(/\ufffd$/, "");
}
