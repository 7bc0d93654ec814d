import { join } from "node:path";
import { command } from "./command.ts";
import { clockLibrary } from "./faults.ts";
import { type FaultKind, faultKinds } from "./schedule.ts";

/** Faults for which this machine has what they need, and a line for each other one. */
export function possibleFaults(dir: string): { kinds: FaultKind[]; missing: string[] } {
  const missing: string[] = [];
  const without = new Set<FaultKind>();
  if (Bun.which("strace") === null) {
    without.add("slow disk");
    missing.push("slow disk: no strace");
  }
  try {
    const source = join(import.meta.dir, "shifted-clock.c");
    command("cc", "-shared", "-fPIC", "-O1", "-o", clockLibrary(dir), source);
  } catch (thrown) {
    without.add("wrong clock");
    missing.push(`wrong clock: no C compiler (${thrown instanceof Error ? thrown.message : thrown})`);
  }
  return { kinds: faultKinds.filter((kind) => !without.has(kind)), missing };
}
