import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { isErrno, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import { isId, timeOfId } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { type Mark, openMark, readMark } from "./dedup-mark.ts";
import {
  decodeJournal,
  encodeEntry,
  encodeJournal,
  type JobEntry,
  type Journal,
  type ReadJournal,
} from "./dedup-record.ts";

/** Number of records after which the file is compacted, as a multiple of the capacity. */
const history = 3;
/** Maximum lead of the clock of the master that created a job over this host's clock. */
const skewMs = 60_000;

/** The journal of jobs on disk, with its mark. */
export interface JournalFile {
  /** What the file says; `append` does not change it. */
  journal: Journal;
  /** @throws SvcError `storage`; then the file is replaced by the next record */
  append(jid: string, entry: JobEntry): void;
  close(): void;
}

/** Reads the journal. A damaged file is renamed, kept, and replaced by its readable part. */
export function openJournal(options: {
  path: string;
  capacity: number;
  clock: Clock;
  log: Log;
}): JournalFile {
  const { path, capacity, clock, log } = options;
  const markPath = path.replace(/(\.\w+)?$/, "-mark$1");
  const { journal, isDamaged } = read(path, readMark(markPath), clock, log);
  const mark = openMark(markPath);
  let file: number | undefined;
  let records = 0;
  let compactAt = history * capacity;

  const rewrite = () => {
    closeFile();
    const next = { ...journal, generation: journal.generation + 1 };
    const bytes = encodeJournal(next);
    writing(path, () => {
      writeFileAtomic(path, bytes, secretMode);
      file = openSync(path, "a");
    });
    journal.generation = next.generation;
    mark.begin({ generation: next.generation, bytes: bytes.length });
    records = journal.entries.size;
    compactAt = history * capacity;
  };
  const closeFile = () => {
    if (file !== undefined) closeSync(file);
    file = undefined;
  };
  const write = (to: number, bytes: Uint8Array) => {
    const before = fstatSync(to).size;
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(to, bytes, at);
      fdatasyncSync(to);
    } catch (cause) {
      try {
        ftruncateSync(to, before);
      } finally {
        closeFile();
      }
      throw cause;
    }
    mark.grow(before + bytes.length);
  };
  const compact = () => {
    try {
      rewrite();
    } catch (thrown) {
      compactAt = records + capacity;
      log.warn("the record of jobs could not be compacted", { file: path, error: describeError(thrown) });
    }
  };

  if (isDamaged) {
    try {
      rewrite();
    } catch (thrown) {
      log.error("the damaged record of jobs could not be replaced; it is tried again with the next job", {
        error: describeError(thrown),
      });
    }
  }
  return {
    journal,
    append: (jid, entry) =>
      writing(path, () => {
        // A file that may be incomplete is replaced instead of appended to.
        if (file === undefined) return rewrite();
        write(file, encodeEntry(jid, entry));
        if (++records >= compactAt) compact();
      }),
    close() {
      closeFile();
      mark.close();
    },
  };
}

function read(
  path: string,
  mark: Mark | "unreadable" | undefined,
  clock: Clock,
  log: Log,
): { journal: Journal; isDamaged: boolean } {
  let bytes: Uint8Array | undefined;
  let problem: string | undefined;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    if (!isErrno(cause, "ENOENT")) problem = describeError(cause);
  }
  const { rest, readableUntil, ...journal } = decodeJournal(bytes ?? new Uint8Array());
  if (rest === "damage") problem = "a record in it is damaged";
  else problem ??= missing({ ...journal, rest, readableUntil }, bytes !== undefined, mark);
  if (rest === "torn" && problem === undefined) {
    log.warn("the last record of a job was cut off by a crash", { file: path });
  }
  if (mark !== undefined && mark !== "unreadable") {
    journal.generation = Math.max(journal.generation, mark.generation);
  }
  if (problem !== undefined) {
    const newest = Math.max(...[...journal.entries.keys()].map(madeAt), clock.now());
    journal.damagedUntil = newest + skewMs;
    log.error("the record of jobs is damaged; jobs made before now are not run", {
      file: path,
      reason: problem,
      kept_as: setAside(path, clock),
      not_before: rfc3339(journal.damagedUntil),
    });
  }
  return { journal, isDamaged: problem !== undefined };
}

/** Describes what the mark knows of the journal and the file does not contain. */
function missing(
  { generation, readableUntil }: ReadJournal,
  isPresent: boolean,
  mark: Mark | "unreadable" | undefined,
): string | undefined {
  if (!isPresent) return mark === undefined ? undefined : "it is gone, and once had records";
  // Even the first record is written with the whole file.
  if (readableUntil === 0) return "no record is in it";
  // The mark may be about the file before this one.
  if (mark === undefined || mark === "unreadable" || mark.generation !== generation) return undefined;
  if (readableUntil >= mark.bytes) return undefined;
  return `it ends after ${readableUntil} bytes, and once had ${mark.bytes}`;
}

/** Links the file to a second name before it is replaced. Ignores failures. */
function setAside(path: string, clock: Clock): string | undefined {
  const aside = `${path}.damaged-${rfc3339(clock.now())}`;
  try {
    linkSync(path, aside);
    return aside;
  } catch {
    return undefined;
  }
}

/** When a job was created, or a request signed; milliseconds since the Unix epoch. */
export function madeAt(id: string): number {
  const signedAt = /^request-(\d{1,16})-/.exec(id)?.[1];
  if (signedAt !== undefined) return Number(signedAt);
  return isId("job", id) ? timeOfId(id) : 0;
}
