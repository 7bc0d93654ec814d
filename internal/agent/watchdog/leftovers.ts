import { readFileSync } from "node:fs";
import { isErrno } from "../../base/files/file.ts";

/**
 * Kills the processes that a peel left running, when the watchdog is the main process of a systemd service:
 * then every other process in the control group of the service came from the peel. Elsewhere the origin of a
 * process is unknown, and nothing is done.
 *
 * @returns the number of processes
 */
export function endLeftovers(env: Readonly<Record<string, string | undefined>>): number {
  // The variable alone may be inherited. If it contains the own process id, it is not.
  if (env.SYSTEMD_EXEC_PID !== String(process.pid)) return 0;
  let left: number[];
  try {
    const group = controlGroupOf(readFileSync("/proc/self/cgroup", "utf8"));
    if (group === undefined) return 0;
    left = leftovers(readFileSync(`/sys/fs/cgroup${group}/cgroup.procs`, "utf8"), process.pid);
  } catch {
    return 0;
  }
  for (const pid of left) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (cause) {
      if (!isErrno(cause, "ESRCH")) throw cause;
    }
  }
  return left.length;
}

/** The control group path of a service, from /proc/self/cgroup; `undefined` for any other group. */
export function controlGroupOf(text: string): string | undefined {
  const path = /^0::(\/\S+)$/m.exec(text)?.[1];
  return path?.endsWith(".service") === true && !path.includes("..") ? path : undefined;
}

/** The processes of cgroup.procs except the own one. 0 means a process of another namespace. */
export function leftovers(procs: string, own: number): number[] {
  return procs
    .split("\n")
    .map(Number)
    .filter((pid) => pid > 1 && pid !== own);
}
