import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import type { Plain } from "../../base/msgpack.ts";
import { lastingMounts, parseMountInfo } from "../facts/disks.ts";
import { define } from "./define.ts";
import type { ModuleFunction } from "./function.ts";
import { commandOf, listProcesses, parseLoad, parseMemory, parseUptime } from "./proc.ts";
import { touching } from "./touch.ts";

/** A file system of another host that is away never answers. */
const diskPatienceMs = 2_000;

/** Functions that tell how a Linux host is doing right now. */
export const statusFunctions: readonly ModuleFunction[] = [
  define({
    name: "status.loadavg",
    doc: "Gives the load averages of 1, 5 and 15 minutes.",
    args: {},
    run: loadAverage,
  }),
  define({
    name: "status.meminfo",
    doc: "Gives the figures of the kernel on memory, in bytes.",
    args: {},
    run: memory,
  }),
  define({
    name: "status.diskusage",
    doc: "Gives total, used and available bytes of file systems, by where they are mounted.",
    args: {
      paths: {
        type: "strings",
        doc: "The file systems of these paths; by default those of disks and of other hosts.",
      },
    },
    run: ({ paths }, { clock }) => diskUsage(paths ?? mountPoints(), clock),
  }),
  define({
    name: "status.uptime",
    doc: "Gives for how many seconds the host is up, and since when.",
    args: {},
    run: (_, { clock }) => uptime(clock),
  }),
  define({
    name: "status.procs",
    doc: "Lists processes, those with the most memory first, and counts all of them.",
    args: {
      match: { type: "string", doc: "Only processes with this text in their command line." },
      limit: { type: "integer", min: 1, max: 2_000, doc: "Processes to give at most; 100 by default." },
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
    doc: "Gives load, memory, disk usage, uptime and the number of processes together.",
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

/** What a file system says, or an `error` in its place: one that is away costs its own entry. */
async function usageOf(path: string, clock: Clock): Promise<Plain> {
  const late = Promise.withResolvers<Plain>();
  const timer = clock.after(diskPatienceMs, () => late.resolve({ error: "no answer within 2 s" }));
  const asked = touching("look at", path, () => statfs(path)).then(
    ({ bsize, blocks, bfree, bavail }): Plain => ({
      total: bsize * blocks,
      used: bsize * (blocks - bfree),
      available: bsize * bavail,
    }),
    (cause: Error): Plain => ({ error: cause.message }),
  );
  const usage = await Promise.race([asked, late.promise]);
  timer.cancel();
  return usage;
}
