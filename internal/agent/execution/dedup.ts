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
import {
  decodeJournal,
  encodeEntry,
  encodeJournal,
  type JobEntry,
  type JobState,
  type Journal,
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
  /** Records that a job must not run any more. */
  close(jid: string, deadline: number, state: Exclude<JobState, "accepted">): void;
  /** Accepted jobs without a known end. */
  unfinished(): { jid: string; entry: JobEntry }[];
  /** Stops all writes. */
  stop(): void;
}

export interface DedupOptions {
  /** `<data dir>/peel-dedup.msgpack`. */
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
  const { journal, isDamaged } = read(path, clock, log);
  const { entries } = journal;
  let file: number | undefined;
  let stopped = false;
  let records = 0;
  let compactAt = history * capacity;

  const rewrite = () => {
    closeFile();
    writing(path, () => {
      writeFileAtomic(path, encodeJournal(journal), secretMode);
      file = openSync(path, "a");
    });
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
    },
  };
}

function read(path: string, clock: Clock, log: Log): { journal: Journal; isDamaged: boolean } {
  let bytes: Uint8Array = new Uint8Array();
  let problem: string | undefined;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    if (!isErrno(cause, "ENOENT")) problem = describeError(cause);
  }
  const { rest, ...journal } = decodeJournal(bytes);
  if (rest === "damage") problem = "a record in it is damaged";
  if (rest === "torn") log.warn("the last record of a job was cut off by a crash", { file: path });
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

function madeAt(jid: string): number {
  return isId("job", jid) ? timeOfId(jid) : 0;
}
