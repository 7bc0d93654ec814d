import { readFileSync } from "node:fs";

export interface Memory {
  /** Resident memory, MiB: with the pages it shares, such as the text of its executable. */
  residentMib: number;
  /** Private memory, MiB. Where no other process runs the same executable, it contains the pages read from that. */
  privateMib: number;
  /** Memory that it has written, MiB: what each further process of the same executable takes at least. */
  writtenMib: number;
}

const ticksPerSecond = 100;

/** Reads the processor time of a process from /proc (proc(5), "stat"). */
export function cpuSecondsOf(pid: number): number {
  // The second field is a name in parentheses, which may hold anything.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Reads the memory of a process from /proc (proc(5), "smaps_rollup"). */
export function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0);
  return {
    residentMib: kib("Rss") / 1024,
    privateMib: (kib("Private_Clean") + kib("Private_Dirty")) / 1024,
    writtenMib: kib("Private_Dirty") / 1024,
  };
}

/** Whether a process runs: a zombie stays until its parent reaps it. */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
