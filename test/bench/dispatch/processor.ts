import { readdirSync, readFileSync } from "node:fs";

/**
 * Reads the processor time of a process from its scheduler statistics, which count nanoseconds where /proc/PID/stat
 * counts hundredths of a second (Linux, Documentation/scheduler/sched-stats). Threads that have ended do not count.
 *
 * @returns milliseconds
 */
export function processorMsOf(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      const [spent = "0"] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ");
      nanoseconds += Number(spent);
    } catch {
      // The thread has ended since.
    }
  }
  return nanoseconds / 1e6;
}
