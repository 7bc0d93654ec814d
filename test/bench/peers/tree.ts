import { readdirSync, readFileSync } from "node:fs";
import { readTextIfPresent } from "../../../internal/base/files/file.ts";
import { memoryOf } from "../../harness/usage.ts";
import { processorMsOf } from "../dispatch/processor.ts";

/** What a process and all that it started use together. */
export interface TreeUsage {
  processes: number;
  /** Processor milliseconds since their starts, with those of what has ended and was waited for. */
  cpuMs: number;
  /** Resident memory: what processes share counts in each of them. */
  residentMib: number;
  /** Private memory. */
  privateMib: number;
  /** What they have written themselves. */
  writtenMib: number;
}

const msPerTick = 10;

export function treeUsage(pid: number): TreeUsage {
  const sum: TreeUsage = { processes: 0, cpuMs: 0, residentMib: 0, privateMib: 0, writtenMib: 0 };
  for (const each of treeOf(pid)) {
    try {
      const { residentMib, privateMib, writtenMib } = memoryOf(each);
      sum.processes += 1;
      sum.cpuMs += cpuMsOf(each);
      sum.residentMib += residentMib;
      sum.privateMib += privateMib;
      sum.writtenMib += writtenMib;
    } catch (thrown) {
      // A process that was started may have ended since; the first one may not.
      if (each === pid) throw thrown;
    }
  }
  return sum;
}

/** With that of the children that it has waited for, which the kernel shows in ticks (proc(5), "stat"). */
function cpuMsOf(pid: number): number {
  // The second field is a name in parentheses, which may hold anything.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return processorMsOf(pid) + (Number(fields[13]) + Number(fields[14])) * msPerTick;
}

/** A process, and what each of its threads started. */
function treeOf(pid: number): number[] {
  const children = threadsOf(pid).flatMap(
    (thread) => readTextIfPresent(`/proc/${pid}/task/${thread}/children`)?.match(/\d+/g) ?? [],
  );
  return [pid, ...children.flatMap((child) => treeOf(Number(child)))];
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    // It has ended.
    return [];
  }
}
