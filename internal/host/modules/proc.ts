import { readdirSync, readFileSync } from "node:fs";
import type { Plain } from "../../base/msgpack.ts";

const maxCommandLength = 200;

/** What /proc tells of a host and its processes; a parser each, so that they can be tried on any text. */

/** 1, 5 and 15 minutes of /proc/loadavg. */
export function parseLoad(text: string): Plain {
  const [one, five, fifteen] = text.split(" ").map(Number);
  return { "1-min": one ?? 0, "5-min": five ?? 0, "15-min": fifteen ?? 0 };
}

/** /proc/meminfo in bytes; what has no unit is a count. */
export function parseMemory(text: string): { [key: string]: number } {
  return Object.fromEntries(
    [...text.matchAll(/^([^:\n]+):\s+(\d+)( kB)?$/gm)].map(([, name, amount, unit]) => [
      name,
      Number(amount) * (unit === undefined ? 1 : 1024),
    ]),
  );
}

/** Seconds of /proc/uptime since the host was started. */
export function parseUptime(text: string): number {
  return Math.floor(Number(text.split(" ")[0]));
}

export interface Process {
  pid: number;
  parent: number;
  uid: number;
  /** A letter, as ps shows it. */
  state: string;
  /** Resident memory in bytes. */
  memory: number;
  name: string;
}

/** /proc/<pid>/status; `undefined` when it is not of that form. */
export function parseProcess(text: string): Process | undefined {
  const fields = new Map(
    [...text.matchAll(/^(\w+):\t *(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]),
  );
  const pid = Number(fields.get("Pid"));
  if (!Number.isSafeInteger(pid)) return undefined;
  return {
    pid,
    parent: Number(fields.get("PPid")),
    uid: Number(fields.get("Uid")?.split("\t")[0]),
    state: fields.get("State")?.slice(0, 1) ?? "?",
    // Threads of the kernel have none.
    memory: Number.parseInt(fields.get("VmRSS") ?? "0", 10) * 1024,
    name: fields.get("Name") ?? "",
  };
}

/** Every process of the host; one that ends meanwhile is left out. */
export function listProcesses(): Process[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const text = readIfPresent(`/proc/${name}/status`);
    const found = text === undefined ? undefined : parseProcess(text);
    return found === undefined ? [] : [found];
  });
}

/** The command line of a process, cut; the name in brackets where there is none, as ps shows it. */
export function commandOf({ pid, name }: Process): string {
  const words = readIfPresent(`/proc/${pid}/cmdline`)?.split("\0") ?? [];
  const line = words.join(" ").trim();
  return line === "" ? `[${name}]` : line.slice(0, maxCommandLength);
}

/** A process may be gone, or be hidden from this user. */
function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
