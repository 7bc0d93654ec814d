import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { madeAt, openJournal } from "./dedup-file.ts";
import type { JobEntry, JobState, Journal } from "./dedup-record.ts";

/** The result of accepting a job. Only a `new` job may run. */
export type Acceptance = "new" | "seen" | "over" | "full" | "damaged";

/**
 * The record of the jobs this peel has received, so that none runs twice, despite redeliveries and restarts.
 * Every method writes to disk before it returns.
 */
export interface Dedup {
  /** Whether this job is recorded. */
  has(jid: string): boolean;
  /** Whether the record of a job with this deadline may have been removed. */
  hasForgotten(deadline: number): boolean;
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
   * @param until when it expires, milliseconds since the Unix epoch
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
export function openDedup(options: DedupOptions): Dedup {
  const { capacity, clock, log } = options;
  const file = openJournal(options);
  const { journal } = file;
  const { entries } = journal;
  let stopped = false;

  const hasForgotten = (deadline: number) => deadline <= journal.forgottenUntil;
  const note = (jid: string, entry: JobEntry) => {
    if (stopped) throw new SvcError("unavailable", "the peel is stopping");
    entries.set(jid, entry);
    file.append(jid, entry);
  };
  /**
   * Records what was not recorded before.
   *
   * @param unwritten the state when it cannot be recorded: then it must not run, also not later
   */
  const record = (id: string, deadline: number, state: JobState, unwritten: JobState): Acceptance => {
    if (entries.has(id)) return "seen";
    if (hasForgotten(deadline)) return "over";
    if (madeAt(id) < journal.damagedUntil) return "damaged";
    if (!makeRoom(journal, capacity, clock.now())) return "full";
    try {
      note(id, { state, deadline, at: clock.now() });
    } catch (thrown) {
      entries.set(id, { state: unwritten, deadline, at: clock.now() });
      throw thrown;
    }
    return "new";
  };
  return {
    has: (jid) => entries.has(jid),
    hasForgotten,
    accept: (jid, deadline) => record(jid, deadline, "accepted", "done"),
    spend: ({ nonce, sentAt }, until) => record(requestEntry(nonce, sentAt), until, "done", "done"),
    close(jid, deadline, state) {
      if (stopped) return;
      if (!entries.has(jid) && !makeRoom(journal, capacity, clock.now())) return;
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
      file.close();
    },
  };
}

/** Removes the oldest expired entries until there is space for one more. @returns whether there is */
function makeRoom(journal: Journal, capacity: number, now: number): boolean {
  const { entries } = journal;
  for (const [jid, { state, deadline }] of entries) {
    if (entries.size < capacity) break;
    if (state === "accepted" || deadline > now) continue;
    entries.delete(jid);
    journal.forgottenUntil = Math.max(journal.forgottenUntil, deadline);
  }
  return entries.size < capacity;
}

/** Signed requests are recorded like jobs that have ended, under a name that no job has. */
function requestEntry(nonce: Uint8Array, sentAt: number): string {
  return `request-${sentAt}-${Buffer.from(nonce).toString("hex")}`;
}
