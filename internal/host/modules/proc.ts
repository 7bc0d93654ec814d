import { readdirSync, readFileSync } from "node:fs";
import { beginningOf } from "../../base/cut.ts";
import { attempt } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";

const maxCommandLength = 200;

/** Parsers for /proc, separate from reading it, so that tests can use any text. */

/** 1, 5 and 15 minutes of /proc/loadavg. */
export function parseLoad(text: string): Plain {
  const [one, five, fifteen] = text.split(" ").map(Number);
  return { "1-min": one ?? 0, "5-min": five ?? 0, "15-min": fifteen ?? 0 };
}

/** Parses /proc/meminfo to bytes; a value without a unit is a count. */
export function parseMemory(text: string): { [key: string]: number } {
  return Object.fromEntries(
    [...text.matchAll(/^([^:\n]+):\s+(\d+)( kB)?$/gm)].map(([, name, amount, unit]) => [
      name,
      Number(amount) * (unit === undefined ? 1 : 1024),
    ]),
  );
}

/** Parses /proc/uptime: seconds since boot. */
export function parseUptime(text: string): number {
  return Math.floor(Number(text.split(" ")[0]));
}

export interface Process {
  pid: number;
  parent: number;
  uid: number;
  /** State letter, as in ps. */
  state: string;
  /** Resident memory in bytes. */
  memory: number;
  name: string;
}

/** Parses /proc/<pid>/status; `undefined` when the text is malformed. */
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
    // Kernel threads have none.
    memory: Number.parseInt(fields.get("VmRSS") ?? "0", 10) * 1024,
    name: fields.get("Name") ?? "",
  };
}

/** Lists the processes of the host; a process that ends meanwhile is left out. */
export function listProcesses(): Process[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const text = readIfPresent(`/proc/${name}/status`);
    const found = text === undefined ? undefined : parseProcess(text);
    return found === undefined ? [] : [found];
  });
}

/** The truncated command line of a process; without one, the name in brackets, as in ps. */
export function commandOf({ pid, name }: Process): string {
  const words = readIfPresent(`/proc/${pid}/cmdline`)?.split("\0") ?? [];
  const line = words.join(" ").trim();
  return line === "" ? `[${name}]` : beginningOf(line, maxCommandLength);
}

/** The process may have ended, or may be hidden from this user. */
function readIfPresent(path: string): string | undefined {
  return attempt(() => readFileSync(path, "utf8"));
}
