import type { FactTable } from "./fact.ts";
import type { Host } from "./host.ts";

interface Cpu {
  model: string | undefined;
  count: number;
  flags: string[] | undefined;
}

/** Parses /proc/cpuinfo, whose keys depend on the architecture. */
export function parseCpuInfo(text: string): Cpu {
  const first = (...keys: string[]) => {
    for (const key of keys) {
      const found = new RegExp(`^${key}\\s*:[ \\t]*(\\S.*)$`, "mi").exec(text)?.[1]?.trim();
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const flags = first("flags", "features", "isa");
  const counted = text.match(/^processor\s*(?:\d+)?\s*:/gm)?.length ?? 0;
  return {
    model: first("model name", "cpu model", "cpu", "uarch", "model", "hardware"),
    // s390x has a separate line for it.
    count: Number(first("# processors") ?? counted),
    flags: flags?.split(/\s+/).sort(),
  };
}

/** Parses a size in /proc/meminfo, in MiB. */
export function parseMemInfo(text: string, key: string): number | undefined {
  const [, kib] = new RegExp(`^${key}:\\s*(\\d+)\\s*kB`, "m").exec(text) ?? [];
  return kib === undefined ? undefined : Math.floor(Number(kib) / 1024);
}

const mebibyte = 1024 * 1024;

function cpuOf(host: Host): Cpu {
  const text = host.read("/proc/cpuinfo");
  if (text !== undefined) return parseCpuInfo(text);
  const cpus = host.cpus();
  return { model: cpus[0]?.model, count: cpus.length, flags: undefined };
}

/** Kernel, processors and memory, limited to values that do not change until a reboot. */
export const hardwareFacts: FactTable = {
  kernel: (host) => host.uname.type,
  kernelrelease: (host) => host.uname.release,
  kernelversion: (host) => host.uname.version,
  cpuarch: (host) => host.uname.machine,
  cpu_model: (host) => cpuOf(host).model,
  num_cpus: (host) => cpuOf(host).count || host.cpus().length,
  cpu_flags: (host) => cpuOf(host).flags,
  mem_total(host) {
    const text = host.read("/proc/meminfo");
    return text === undefined ? Math.floor(host.totalMemory() / mebibyte) : parseMemInfo(text, "MemTotal");
  },
  swap_total: (host) => parseMemInfo(host.read("/proc/meminfo") ?? "", "SwapTotal"),
};
