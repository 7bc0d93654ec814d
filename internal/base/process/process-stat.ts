import { readFileSync, readlinkSync } from "node:fs";

/** A process, told apart from later ones that get its number. */
export interface ProcessIdentity {
  pid: number;
  /** When it was started, in clock ticks since the boot. */
  start: string;
  /** Names the boot that the ticks are counted from. */
  boot: string;
}

/** Place of the start time among the fields after the program's name (proc(5), field 22). */
const startField = 19;

/** The fields of /proc/<pid>/stat after the program's name, which may hold anything; none when it is gone. */
export function statOf(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** Who has this number now; `undefined` when nobody does, or one that has ended and was not yet waited for. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const fields = statOf(String(pid));
  const [state] = fields;
  const start = fields[startField];
  if (start === undefined || state === "Z" || state === "X") return undefined;
  return { pid, start, boot: bootId() };
}

/** Whether that very process still runs. */
export function isRunning(process: ProcessIdentity): boolean {
  const now = identityOf(process.pid);
  return now !== undefined && now.start === process.start && now.boot === process.boot;
}

/** The executable file of a process, also when it was replaced since; `undefined` when it cannot be told. */
export function executableOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, "");
  } catch {
    return undefined;
  }
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  } catch {
    return "";
  }
}
