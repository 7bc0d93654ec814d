import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { rfc3339 } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { isErrno, secretMode, temporaryName } from "../../base/file.ts";

/** Sees to it that states run once at a time on this host, whatever process runs them. */
export interface RunLock {
  /**
   * Runs something while it holds the lock.
   *
   * @param what names it for whoever comes meanwhile: `state.apply web`
   * @throws SvcError `conflict` naming what holds it; `storage`
   */
  hold<Value>(what: string, run: () => Promise<Value>): Promise<Value>;
}

/** Who holds the lock: a process is itself, and not a later one of its number, by when it started. */
interface Holder {
  pid: number;
  /** As the system counts it; empty where it does not tell. */
  started: string;
  what: string;
  /** RFC 3339. */
  since: string;
}

/**
 * @param options.file where the lock lies: in the data directory of the peel, which others cannot write to;
 *   absent where nothing else runs states
 */
export function createRunLock(options: { file?: string; now(): number }): RunLock {
  const { file, now } = options;
  let held: Holder | undefined;
  return {
    async hold(what, run) {
      if (held !== undefined) throw taken(held);
      const own = { pid: process.pid, started: startOf(process.pid) ?? "", what, since: rfc3339(now()) };
      if (file !== undefined) take(file, own);
      held = own;
      try {
        return await run();
      } finally {
        held = undefined;
        if (file !== undefined) rmSync(file, { force: true });
      }
    },
  };
}

/** Lays a whole file there at once, unless one is there; one whose process is gone is taken away first. */
function take(file: string, own: Holder): void {
  const mine = temporaryName(file);
  try {
    writeFileSync(mine, JSON.stringify(own), { mode: secretMode, flag: "wx" });
    for (;;) {
      try {
        linkSync(mine, file);
        return;
      } catch (thrown) {
        if (!isErrno(thrown, "EEXIST")) throw thrown;
      }
      const other = read(file);
      if (other !== undefined && isAlive(other)) throw taken(other);
      removeStale(file, other);
    }
  } catch (thrown) {
    if (thrown instanceof SvcError) throw thrown;
    throw new SvcError(
      "storage",
      `states are not run: the lock ${file} cannot be taken: ${describeError(thrown)}`,
    );
  } finally {
    rmSync(mine, { force: true });
  }
}

/** Two that find the same stale lock at once: the second may have moved the first one's new lock, and puts it back. */
function removeStale(file: string, stale: Holder | undefined): void {
  const aside = temporaryName(file);
  try {
    renameSync(file, aside);
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT")) return;
    throw thrown;
  }
  const moved = read(aside);
  if (moved !== undefined && isAlive(moved) && JSON.stringify(moved) !== JSON.stringify(stale)) {
    linkSync(aside, file);
  }
  rmSync(aside, { force: true });
}

/** @returns `undefined` for one that is gone or damaged: it was written by nobody who still runs */
function read(file: string): Holder | undefined {
  try {
    const { pid, started, what, since } = JSON.parse(readFileSync(file, "utf8"));
    if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
    return { pid, started: String(started), what: String(what), since: String(since) };
  } catch {
    return undefined;
  }
}

function isAlive({ pid, started }: Holder): boolean {
  const now = startOf(pid);
  if (now !== undefined) return started === "" || now === started;
  try {
    process.kill(pid, 0);
    // Without /proc a process of the number is taken for the holder.
    return started === "";
  } catch (thrown) {
    return isErrno(thrown, "EPERM");
  }
}

/** When a process started, in ticks since the host did; `undefined` when it is gone, or there is no /proc. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name before it may hold anything; proc(5) counts it as field 22.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

function taken({ pid, what, since }: Holder): SvcError {
  return new SvcError(
    "conflict",
    `states run once at a time on a peel, and ${what} runs since ${since} (process ${pid}): wait for it, or stop it`,
  );
}
