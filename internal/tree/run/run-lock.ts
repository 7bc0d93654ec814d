import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { rfc3339 } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { isErrno, secretMode, temporaryName } from "../../base/files/file.ts";

/** Ensures that only one run of states is active on this host, across processes. */
export interface RunLock {
  /**
   * Runs a function while holding the lock.
   *
   * @param what the name of the run in the error of concurrent runs: `state.apply web`
   * @throws SvcError `conflict` naming the holder; `storage`
   */
  hold<Value>(what: string, run: () => Promise<Value>): Promise<Value>;
}

/** The holder of the lock. The start time distinguishes a process from a later one with the same pid. */
interface Holder {
  pid: number;
  /** Start time in the system's unit; empty when the system does not provide it. */
  started: string;
  what: string;
  /** RFC 3339. */
  since: string;
}

/**
 * @param options.file path of the lock, in the data directory of the peel, which only the peel can write;
 *   absent where no other process runs states
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

/** Creates the lock file atomically unless it exists; first removes a stale one, whose process has ended. */
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
      `states are not run: cannot take the lock ${file}: ${describeError(thrown)}`,
    );
  } finally {
    rmSync(mine, { force: true });
  }
}

/**
 * When two processes find the same stale lock, the second may move away the new lock of the first, and then
 * puts it back.
 */
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

/** @returns `undefined` when the file is missing or damaged; then no running process wrote it */
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
    // Without /proc, any process with this pid counts as the holder.
    return started === "";
  } catch (thrown) {
    return isErrno(thrown, "EPERM");
  }
}

/**
 * The start time of a process, in clock ticks since boot; `undefined` when it has ended, or without /proc.
 */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The process name in field 2 may contain anything; the start time is field 22 (proc(5)).
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

function taken({ pid, what, since }: Holder): SvcError {
  return new SvcError(
    "conflict",
    `another run of states is active on this peel: ${what}, since ${since} (process ${pid}); wait until it ends, or stop it`,
  );
}
