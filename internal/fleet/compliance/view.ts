import { describeError } from "../../base/errors.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { decodeReport } from "../../wire/state-report.ts";
import type { LogLines } from "../budget/mod.ts";
import type { KnownRun } from "./status.ts";

/** The last report of each peel, in the memory of a master, kept up to date by one watch. */
export interface ComplianceView {
  /** Resolves when all that was stored at the start is known. */
  readonly ready: Promise<void>;
  /** Whether it is ready; before that it is incomplete. */
  readonly running: boolean;
  /** Resolves when all that is stored now is known. */
  caughtUp(): Promise<void>;
  /** @param peelId encoded */
  runOf(peelId: string): KnownRun | undefined;
  stop(): void;
}

/** Starts watching. A value that is not a report counts as none. */
export function followCompliance(options: {
  /** The bucket `compliance`. */
  reports: Pick<Bucket, "watch">;
  lines: Pick<LogLines, "say">;
}): ComplianceView {
  const { reports, lines } = options;
  const known = new Map<string, KnownRun & { revision: number }>();
  let running = false;
  const watch = reports.watch(({ key, value, revision, storedAt }) => {
    const before = known.get(key);
    // A watch that continues repeats what it delivered.
    if (before !== undefined && before.revision >= revision) return;
    if (value === undefined) return void known.delete(key);
    try {
      const report = decodeReport(value);
      // A part of a subject would keep all of it in memory.
      known.set(before === undefined ? Buffer.from(key).toString() : key, { report, storedAt, revision });
    } catch (thrown) {
      known.delete(key);
      lines.say("warn", "the report of a state run cannot be read", key, { reason: describeError(thrown) });
    }
  });
  const ready = watch.ready.then(() => {
    running = true;
  });
  return {
    ready,
    get running() {
      return running;
    },
    caughtUp: () => watch.caughtUp(),
    runOf: (peelId) => known.get(peelId),
    stop: () => watch.stop(),
  };
}
