import { readdirSync, readFileSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { describeError } from "../../base/errors.ts";
import { isErrno, makeDirectory, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Log } from "../../base/log.ts";
import { record } from "../../base/record.ts";
import { blob, optional } from "../../base/record-kinds.ts";

/** Where the report of a run waits, in the data directory of a peel. */
export const reportsDirectory = (dataDir: string): string => join(dataDir, "compliance");

const named = /^(\d{12})\.msgpack$/;
/** More than a report and its differences have. */
const maxBytes = 512 * 1024;
const stored = record("report", { report: blob, diffs: optional(blob) }, { isOpen: true });

/** A report as the masters store it, and the differences of the run. */
export type WaitingReport = ReturnType<typeof stored.decode>;

/**
 * The report of the last run, in a file until the bus has stored it. Only the newest one counts: the process that
 * keeps one holds the lock of state runs, so that a peel and a `svc-peel call` on its host keep theirs in the order
 * of their runs.
 */
export interface WaitingReports {
  /** Takes the place of those that wait. @throws SvcError `storage` */
  store(report: WaitingReport): void;
  newest(): { file: string; waiting: WaitingReport } | undefined;
  /** It is stored. One that was kept since stays. */
  remove(file: string): void;
  /** Calls back when this process has kept one. A watch of the directory may miss it. @returns how to end that */
  onKept(check: () => void): () => void;
}

export function openWaitingReports(dir: string, log: Log): WaitingReports {
  const readers = new Set<() => void>();
  const files = (): string[] => {
    try {
      return readdirSync(dir)
        .filter((name) => named.test(name))
        .sort();
    } catch (thrown) {
      if (!isErrno(thrown, "ENOENT")) {
        log.error("reports of state runs cannot be listed", { dir, reason: describeError(thrown) });
      }
      return [];
    }
  };
  const remove = (file: string) => {
    try {
      unlinkSync(join(dir, file));
    } catch (thrown) {
      if (isErrno(thrown, "ENOENT")) return;
      log.warn("a report of a state run is still there", { file, reason: describeError(thrown) });
    }
  };
  const read = (file: string): WaitingReport | undefined => {
    const path = join(dir, file);
    try {
      const { size } = statSync(path);
      if (size > maxBytes) throw new Error(`it has ${size} bytes`);
      return stored.decode(readFileSync(path));
    } catch (thrown) {
      if (!isErrno(thrown, "ENOENT")) {
        log.error("a report of a state run is damaged and dropped", {
          file: path,
          reason: describeError(thrown),
        });
        remove(file);
      }
      return undefined;
    }
  };
  return {
    store(report) {
      const before = files();
      const last = Number(named.exec(before.at(-1) ?? "")?.[1] ?? 0);
      const path = join(dir, `${String(last + 1).padStart(12, "0")}.msgpack`);
      writing(path, () => {
        makeDirectory(dir, 0o700);
        writeFileAtomic(path, stored.encode(report), secretMode);
      });
      for (const file of before) remove(file);
      for (const check of readers) check();
    },
    newest() {
      for (const file of files().reverse()) {
        const waiting = read(file);
        if (waiting !== undefined) return { file, waiting };
      }
      return undefined;
    },
    remove,
    onKept(check) {
      readers.add(check);
      return () => readers.delete(check);
    },
  };
}
