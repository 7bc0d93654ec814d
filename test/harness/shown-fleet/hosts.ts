import type { Plain } from "../../../internal/base/msgpack.ts";

/** A host of the fleet that is shown in the documentation: all of it is made up. */
export interface ShownHost {
  /** With dots. */
  id: string;
  labels: Record<string, string>;
  facts: Record<string, Plain>;
  /** It said goodbye. */
  silent?: true;
}

const systems = {
  bookworm: { os: "Debian", osrelease: "12", oscodename: "bookworm", kernelrelease: "6.1.0-27-amd64" },
  bullseye: { os: "Debian", osrelease: "11", oscodename: "bullseye", kernelrelease: "5.10.0-33-amd64" },
  noble: { os: "Ubuntu", osrelease: "24.04", oscodename: "noble", kernelrelease: "6.8.0-49-generic" },
  rocky: { os: "Rocky", osrelease: "9.4", oscodename: "Blue Onyx", kernelrelease: "5.14.0-427.el9.x86_64" },
  alpine: { os: "Alpine", osrelease: "3.20.3", oscodename: "", kernelrelease: "6.6.60-0-virt" },
} as const;

/** Name, number, system, tier, environment, cores, GiB. */
const kinds = [
  ["web", 6, "bookworm", "web", "prod", 4, 8],
  ["api", 4, "noble", "app", "prod", 8, 16],
  ["db", 3, "bookworm", "data", "prod", 16, 64],
  ["cache", 2, "alpine", "data", "prod", 2, 4],
  ["edge", 2, "rocky", "edge", "prod", 4, 8],
  ["build", 1, "noble", "ci", "staging", 32, 128],
  ["mail", 1, "bullseye", "mail", "prod", 2, 4],
  ["backup", 1, "bookworm", "data", "staging", 4, 16],
] as const;

const silent = new Set(["edge-2.example.com", "mail-1.example.com"]);

/** 20 hosts. */
export const shownHosts: readonly ShownHost[] = kinds.flatMap(
  ([name, count, system, tier, env, cores, memory], kind) =>
    Array.from({ length: count }, (_, index): ShownHost => {
      const id = `${name}-${index + 1}.example.com`;
      const address = `10.20.${kind + 1}.${index + 11}`;
      return {
        id,
        labels: { env, tier },
        facts: {
          ...systems[system],
          ...{ svc_version: "1.0.0", kernel: "Linux", cpuarch: "x86_64", num_cpus: cores },
          ...{ mem_total: memory * 1024, disks: ["nvme0n1"], disk_sizes: { nvme0n1: 480_000 } },
          ...{ fqdn: id, host: `${name}-${index + 1}`, nodename: `${name}-${index + 1}` },
          ...{ domain: "example.com", ipv4: [address], interfaces: ["eth0"] },
          ...{ ip_interfaces: { eth0: [address] }, virtual: "kvm", init: "systemd" },
          ...{ timezone: "UTC", locale_info: { defaultencoding: "UTF-8", defaultlanguage: "en_US" } },
          ...{ rack: `fra-${kind + 1}`, mounts: { "/": { device: "/dev/nvme0n1p1", fstype: "ext4" } } },
        },
        ...(silent.has(id) ? { silent: true as const } : {}),
      };
    }),
);

/** Hosts that ask to join. The last one trusted another root. */
export const shownPending = ["web-7.example.com", "web-8.example.com", "db-4.example.com"] as const;
