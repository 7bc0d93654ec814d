import { readdirSync, readFileSync } from "node:fs";
import { attempt, SvcError } from "../../base/errors.ts";
import { statOf } from "../../base/process/process-stat.ts";
import { markIn } from "../upgrade/mod.ts";

/** A process that a watchdog started. */
export interface Marked {
  pid: number;
  parent: number;
  /** The real user id, which a setuid program keeps. */
  user: number;
  /** Process id of the watchdog that started it. */
  watchdog: number;
  dataDir: string;
}

/** Index of the parent among the fields after the program's name (proc(5), field 4). */
const parentField = 1;

/**
 * Finds peels that an earlier watchdog of the same directory left behind when it was killed.
 *
 * @param dataDir `SVC_DATA_DIR`
 * @param user the user of the watchdog: any user can mark their own processes
 * @throws SvcError `conflict` when such a watchdog still runs
 */
export function orphansOf(dataDir: string, user: number, found: readonly Marked[]): number[] {
  const own = found.filter((entry) => entry.dataDir === dataDir && entry.user === user);
  const watched = own.find(({ parent, watchdog }) => parent === watchdog);
  if (watched !== undefined) {
    throw new SvcError(
      "conflict",
      `the watchdog with the process id ${watched.watchdog} runs a peel in ${dataDir}: stop it first`,
    );
  }
  return own.map(({ pid }) => pid);
}

/** The running processes of this host that a watchdog started. Other users' processes may be unreadable. */
export function findMarked(): Marked[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const mark = markIn(environOf(name));
    const fields = statOf(name);
    const [state, parent] = [fields[0], fields[parentField]];
    if (mark === undefined || parent === undefined || state === "Z" || state === "X") return [];
    const common = { pid: Number(name), parent: Number(parent), user: realUserOf(name) };
    return [{ ...common, watchdog: mark.pid, dataDir: mark.dataDir }];
  });
}

/** The first number of `Uid:` in the status of a process (proc(5)). */
function realUserOf(pid: string): number {
  return attempt(
    () => Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? -1),
    -1,
  );
}

function environOf(pid: string): string {
  return attempt(() => readFileSync(`/proc/${pid}/environ`, "utf8"), "");
}
