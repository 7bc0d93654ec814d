import { readFileSync } from "node:fs";
import { isErrno } from "../../base/file.ts";

/**
 * Ends what a peel left running, when the watchdog is the main process of a service of systemd: then all that
 * is in the control group of the service and not the watchdog came from the peel. Elsewhere it is not
 * known whose a process is, and nothing is done.
 *
 * @returns how many processes there were
 */
export function endLeftovers(env: Readonly<Record<string, string | undefined>>): number {
  // The variable alone may have been handed on; with the own process id in it, it was not.
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

/** The path of the group of a service, from /proc/self/cgroup; `undefined` for any other group. */
export function controlGroupOf(text: string): string | undefined {
  const path = /^0::(\/\S+)$/m.exec(text)?.[1];
  return path?.endsWith(".service") === true && !path.includes("..") ? path : undefined;
}

/** Processes of cgroup.procs but the own one; 0 stands for those of another namespace. */
export function leftovers(procs: string, own: number): number[] {
  return procs
    .split("\n")
    .map(Number)
    .filter((pid) => pid > 1 && pid !== own);
}
