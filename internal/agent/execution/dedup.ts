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
import type { Clock } from "../../base/clock.ts";
import { rfc3339 } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { isErrno, secretMode, writeFileAtomic } from "../../base/file.ts";
import { isId, timeOfId } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { writing } from "../../base/new-files.ts";
import { type Mark, openMark, readMark } from "./dedup-mark.ts";
import {
  decodeJournal,
  encodeEntry,
  encodeJournal,
  type JobEntry,
  type JobState,
  type Journal,
  type ReadJournal,
} from "./dedup-record.ts";

/** Number of records after which the file is compacted, as a multiple of the capacity. */
const history = 3;
/** Maximum lead of the clock of the master that created a job over this host's clock. */
const skewMs = 60_000;

/** The result of accepting a job. Only a `new` job may run. */
export type Acceptance = "new" | "seen" | "over" | "full" | "damaged";

/**
 * The record of the jobs this peel has received, so that none runs twice, despite redeliveries and restarts.
 * Every method writes to disk before it returns.
 */
export interface Dedup {
  /** Whether this job is recorded. */
  has(jid: string): boolean;
  /**
   * Records a job before it runs. `over`: its record may have been removed already. `full`: the record is full
   * of jobs before their deadline. `damaged`: the job is older than a damage of the file, and may have run.
   *
   * @throws SvcError `storage` when it cannot be recorded. Then it must not run; it is not redelivered
   */
  accept(jid: string, deadline: number): Acceptance;
  /**
   * Records that a signed request was used, as `accept` does with a job.
   *
   * @param until when it counts no more, milliseconds since the Unix epoch
   * @throws SvcError `storage` when it cannot be recorded. Then what it asks for must not run
   */
  spend(request: { nonce: Uint8Array; sentAt: number }, until: number): Acceptance;
  /** Records that a job must not run any more. */
  close(jid: string, deadline: number, state: Exclude<JobState, "accepted">): void;
  /** Accepted jobs without a known end. */
  unfinished(): { jid: string; entry: JobEntry }[];
  /** Stops all writes. */
  stop(): void;
}

export interface DedupOptions {
  /** `<data dir>/peel-dedup.msgpack`. Next to it is `peel-dedup-mark.msgpack`, the size that it has at least. */
  path: string;
  /** Maximum number of recorded jobs. */
  capacity: number;
  clock: Clock;
  log: Log;
}

/**
 * Opens the journal. A damaged file is renamed and kept. Its readable part still counts, and jobs created
 * before that moment do not run.
 *
 * An entry is removed only after its deadline. A job runs only if its deadline is after the latest removed
 * deadline, even if the clock was set back. So a removed job never runs again.
 */
export function openDedup({ path, capacity, clock, log }: DedupOptions): Dedup {
  const markPath = path.replace(/(\.\w+)?$/, "-mark$1");
  const { journal, isDamaged } = read(path, readMark(markPath), clock, log);
  const mark = openMark(markPath);
  const { entries } = journal;
  let file: number | undefined;
  let stopped = false;
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
    records = entries.size;
    compactAt = history * capacity;
  };
  const closeFile = () => {
    if (file !== undefined) closeSync(file);
    file = undefined;
  };
  const append = (bytes: Uint8Array) => {
    // A file that may be incomplete is replaced instead of appended to.
    if (file === undefined) return rewrite();
    const before = fstatSync(file).size;
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
      fdatasyncSync(file);
    } catch (cause) {
      try {
        ftruncateSync(file, before);
      } finally {
        closeFile();
      }
      throw cause;
    }
    mark.grow(before + bytes.length);
    if (++records < compactAt) return;
    try {
      rewrite();
    } catch (thrown) {
      compactAt = records + capacity;
      log.warn("the record of jobs could not be compacted", { file: path, error: describeError(thrown) });
    }
  };
  const note = (jid: string, entry: JobEntry) => {
    if (stopped) throw new SvcError("unavailable", "the peel is stopping");
    entries.set(jid, entry);
    writing(path, () => append(encodeEntry(jid, entry)));
  };
  /** Removes the oldest expired entries until there is space for one more. */
  const makeRoom = (): boolean => {
    const now = clock.now();
    for (const [jid, { state, deadline }] of entries) {
      if (entries.size < capacity) break;
      if (state === "accepted" || deadline > now) continue;
      entries.delete(jid);
      journal.forgottenUntil = Math.max(journal.forgottenUntil, deadline);
    }
    return entries.size < capacity;
  };
  const mayHaveRun = (jid: string) => madeAt(jid) < journal.damagedUntil;

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
    has: (jid) => entries.has(jid),
    accept(jid, deadline) {
      if (entries.has(jid)) return "seen";
      if (deadline <= journal.forgottenUntil) return "over";
      if (mayHaveRun(jid)) return "damaged";
      if (!makeRoom()) return "full";
      try {
        note(jid, { state: "accepted", deadline, at: clock.now() });
      } catch (thrown) {
        entries.set(jid, { state: "done", deadline, at: clock.now() });
        throw thrown;
      }
      return "new";
    },
    spend({ nonce, sentAt }, until) {
      const id = requestEntry(nonce, sentAt);
      if (entries.has(id)) return "seen";
      if (until <= journal.forgottenUntil) return "over";
      if (mayHaveRun(id)) return "damaged";
      if (!makeRoom()) return "full";
      const entry: JobEntry = { state: "done", deadline: until, at: clock.now() };
      try {
        note(id, entry);
      } catch (thrown) {
        entries.set(id, entry);
        throw thrown;
      }
      return "new";
    },
    close(jid, deadline, state) {
      if (stopped) return;
      if (!entries.has(jid) && !makeRoom()) return;
      try {
        note(jid, { state, deadline, at: clock.now() });
      } catch (thrown) {
        log.error("the end of a job could not be recorded; it is tried again with the next one", {
          jid,
          error: describeError(thrown),
        });
      }
    },
    unfinished: () =>
      [...entries].filter(([, { state }]) => state === "accepted").map(([jid, entry]) => ({ jid, entry })),
    stop() {
      stopped = true;
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

/** Signed requests are recorded like jobs that have ended, under a name that no job has. */
function requestEntry(nonce: Uint8Array, sentAt: number): string {
  return `request-${sentAt}-${Buffer.from(nonce).toString("hex")}`;
}

/** When a job was created, or a request signed; milliseconds since the Unix epoch. */
function madeAt(id: string): number {
  const signedAt = /^request-(\d{1,16})-/.exec(id)?.[1];
  if (signedAt !== undefined) return Number(signedAt);
  return isId("job", id) ? timeOfId(id) : 0;
}
