import { readFileSync, readlinkSync } from "node:fs";
import { attempt } from "../errors.ts";

/** Identifies a process, even when a later process gets the same number. */
export interface ProcessIdentity {
  pid: number;
  /** Start time in clock ticks since boot. */
  start: string;
  /** Id of the boot from which the ticks are counted. */
  boot: string;
}

/** Indexes of the number of threads and of the start time among the fields after the program's name (proc(5), fields 20 and 22). */
const threadsField = 17;
const startField = 19;

/** The fields of /proc/<pid>/stat after the program's name. Empty when the process has exited. */
export function statOf(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** The process that has this number now; `undefined` for no process, or for a zombie. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const fields = statOf(String(pid));
  const start = fields[startField];
  return start === undefined || hasEnded(fields) ? undefined : { pid, start, boot: bootId() };
}

/**
 * Whether a process has ended. While one with several threads is being killed, the first of them is a zombie already,
 * and the others still have its files and ports.
 *
 * @param fields as of `statOf`
 */
export function hasEnded(fields: readonly string[]): boolean {
  const [state] = fields;
  return state === undefined || state === "X" || (state === "Z" && Number(fields[threadsField]) <= 1);
}

/** Whether this exact process still runs. */
export function isRunning(process: ProcessIdentity): boolean {
  const now = identityOf(process.pid);
  return now !== undefined && now.start === process.start && now.boot === process.boot;
}

/** The executable of a process, even when the file was replaced since; `undefined` when unknown. */
export function executableOf(pid: number): string | undefined {
  return attempt(() => readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, ""));
}

function bootId(): string {
  return attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim(), "");
}
