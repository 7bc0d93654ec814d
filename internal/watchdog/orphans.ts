import { readdirSync, readFileSync } from "node:fs";
import { SvcError } from "../base/errors.ts";
import { statOf } from "../base/process-stat.ts";
import { markIn } from "../upgrade/parent.ts";

/** A process that a watchdog started. */
export interface Marked {
  pid: number;
  parent: number;
  /** Process id of the watchdog that started it. */
  watchdog: number;
  dataDir: string;
}

/** Place of the parent among the fields after the program's name (proc(5), field 4). */
const parentField = 1;

/**
 * Peels that an earlier watchdog of the same directory left behind when it was killed.
 *
 * @param dataDir `SVC_DATA_DIR`
 * @throws SvcError `conflict` when such a watchdog still runs
 */
export function orphansOf(dataDir: string, found: readonly Marked[]): number[] {
  const own = found.filter((entry) => entry.dataDir === dataDir);
  const watched = own.find(({ parent, watchdog }) => parent === watchdog);
  if (watched !== undefined) {
    throw new SvcError(
      "conflict",
      `the watchdog with the process id ${watched.watchdog} runs a peel in ${dataDir}: stop it first`,
    );
  }
  return own.map(({ pid }) => pid);
}

/** The processes of this host that a watchdog started and that still run; those of others cannot be read. */
export function findMarked(): Marked[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const mark = markIn(environOf(name));
    const fields = statOf(name);
    const [state, parent] = [fields[0], fields[parentField]];
    if (mark === undefined || parent === undefined || state === "Z" || state === "X") return [];
    return [{ pid: Number(name), parent: Number(parent), watchdog: mark.pid, dataDir: mark.dataDir }];
  });
}

function environOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return "";
  }
}
