import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import type { Plain } from "../../base/msgpack.ts";
import { lastingMounts, parseMountInfo } from "../facts/mod.ts";
import { arg, define } from "./define.ts";
import type { ModuleFunction } from "./function.ts";
import { commandOf, listProcesses, parseLoad, parseMemory, parseUptime } from "./proc.ts";
import { touching } from "./touch.ts";

/** A network file system whose server is unavailable never answers. */
const diskTimeoutMs = 2_000;

/** Functions that return the current status of a Linux host. */
export const statusFunctions: readonly ModuleFunction[] = [
  define({
    name: "status.loadavg",
    doc: "Returns the load averages of 1, 5 and 15 minutes.",
    args: {},
    run: loadAverage,
  }),
  define({
    name: "status.meminfo",
    doc: "Returns the memory statistics of the kernel, in bytes.",
    args: {},
    run: memory,
  }),
  define({
    name: "status.diskusage",
    doc: "Returns total, used and available bytes of file systems, by mount point.",
    args: {
      paths: arg.strings("Paths whose file systems to query; by default all disks and network file systems."),
    },
    run: ({ paths }, { clock }) => diskUsage(paths ?? mountPoints(), clock),
  }),
  define({
    name: "status.uptime",
    doc: "Returns the uptime of the host in seconds, and the boot time.",
    args: {},
    run: (_, { clock }) => uptime(clock),
  }),
  define({
    name: "status.procs",
    doc: "Lists processes by memory usage in descending order, and their total number.",
    args: {
      match: arg.string("Only lists processes with this text in their command line.", { data: "text" }),
      limit: arg.integer("Maximum number of processes; 100 by default.", { min: 1, max: 2_000 }),
    },
    run: ({ match = "", limit = 100 }) => {
      const all = listProcesses().map((entry) => ({ ...entry, command: commandOf(entry) }));
      const found = all.filter(({ command }) => command.includes(match));
      const first = found.sort((one, other) => other.memory - one.memory).slice(0, limit);
      return { total: found.length, procs: first.map(({ name: _, ...shown }) => shown) };
    },
  }),
  define({
    name: "status.all",
    doc: "Returns load, memory, disk usage, uptime and the number of processes together.",
    args: {},
    run: async (_, { clock }) => ({
      loadavg: loadAverage(),
      meminfo: memory(),
      diskusage: await diskUsage(mountPoints(), clock),
      uptime: uptime(clock),
      procs: listProcesses().length,
    }),
  }),
];

function loadAverage(): Plain {
  return parseLoad(readFileSync("/proc/loadavg", "utf8"));
}

function memory(): Plain {
  return parseMemory(readFileSync("/proc/meminfo", "utf8"));
}

function uptime(clock: Clock): Plain {
  const seconds = parseUptime(readFileSync("/proc/uptime", "utf8"));
  return { seconds, since: rfc3339(clock.now() - seconds * 1_000) };
}

function mountPoints(): string[] {
  return lastingMounts(parseMountInfo(readFileSync("/proc/self/mountinfo", "utf8"))).map(({ path }) => path);
}

async function diskUsage(paths: readonly string[], clock: Clock): Promise<Plain> {
  const found = await Promise.all(paths.map(async (path) => [path, await usageOf(path, clock)] as const));
  return Object.fromEntries(found);
}

/**
 * The usage of a file system, or an `error` instead, so that an unavailable one affects only its own entry.
 */
async function usageOf(path: string, clock: Clock): Promise<Plain> {
  const late = Promise.withResolvers<Plain>();
  const timer = clock.after(diskTimeoutMs, () => late.resolve({ error: "no answer within 2 s" }));
  const requested = touching("access", path, () => statfs(path)).then(
    ({ bsize, blocks, bfree, bavail }): Plain => ({
      total: bsize * blocks,
      used: bsize * (blocks - bfree),
      available: bsize * bavail,
    }),
    (cause: Error): Plain => ({ error: cause.message }),
  );
  const usage = await Promise.race([requested, late.promise]);
  timer.cancel();
  return usage;
}
