import { isErrno } from "../../base/files/file.ts";
import type { FactTable } from "./fact.ts";
import { dmi } from "./firmware.ts";
import type { Host } from "./host.ts";

interface Virtual {
  virtual: string;
  virtual_subtype?: string;
}

/** Names of container runtimes in /run/systemd/container and in the environment of process 1. */
const runtimes: Record<string, string> = {
  docker: "Docker",
  "kube-pod": "Kubernetes",
  lxc: "LXC",
  "lxc-libvirt": "LXC",
  oci: "OCI",
  podman: "Podman",
  proot: "PRoot",
  rkt: "rkt",
  "systemd-nspawn": "systemd-nspawn",
  wsl: "WSL",
};

const groups: readonly (readonly [RegExp, string])[] = [
  [/\/kubepods[./-]/, "Kubernetes"],
  [/\/(?:docker|buildkit)[/-]/, "Docker"],
  [/\/libpod[/_-]/, "Podman"],
  [/\/lxc(?:\.payload)?[./]/, "LXC"],
  [/\/system\.slice\/containerd\.service\//, "OCI"],
  [/\/machine\.slice\/systemd-nspawn/, "systemd-nspawn"],
];

/** Detects the container runtime, in the same order as systemd-detect-virt. */
function containerOf(host: Host): string | undefined {
  if (/microsoft|wsl/i.test(host.read("/proc/sys/kernel/osrelease") ?? "")) return "WSL";
  if (host.exists("/proc/vz") && !host.exists("/proc/bc")) return "OpenVZ";
  const named =
    host.read("/run/systemd/container")?.trim() ||
    /(?:^|\0)container=([^\0]+)/.exec(readIfAllowed(host, "/proc/1/environ") ?? "")?.[1];
  if (named) return runtimes[named] ?? named;
  const cgroup = readIfAllowed(host, "/proc/1/cgroup") ?? "";
  const group = groups.find(([pattern]) => pattern.test(cgroup));
  if (group !== undefined) return group[1];
  if (host.exists("/run/.containerenv")) return "Podman";
  return host.exists("/.dockerenv") ? "Docker" : undefined;
}

const machines: readonly (readonly [RegExp, string])[] = [
  [/vmware/i, "VMware"],
  [/virtualbox|innotek/i, "VirtualBox"],
  [/parallels/i, "Parallels"],
  [/bhyve/i, "bhyve"],
  [/amazon ec2/i, "Nitro"],
  [/google/i, "gce"],
  [/\bkvm\b|openstack|kubevirt|digitalocean|hetzner|alibaba|scaleway|vultr|linode|akamai|upcloud/i, "kvm"],
  [/qemu|bochs/i, "qemu"],
  [/\bxen\b/i, "xen"],
];

function machineOf(host: Host): Virtual {
  if (host.read("/proc/xen/capabilities")?.includes("control_d")) {
    return { virtual: "xen", virtual_subtype: "Xen Dom0" };
  }
  if (host.read("/sys/hypervisor/type")?.trim() === "xen") {
    const guest = host.read("/sys/hypervisor/guest_type")?.trim();
    return { virtual: "xen", ...(guest ? { virtual_subtype: `Xen ${guest} DomU` } : {}) };
  }
  const vendor = dmi(host, "sys_vendor") ?? "";
  const product = dmi(host, "product_name") ?? "";
  if (/^microsoft/i.test(vendor) && /virtual machine/i.test(product)) return { virtual: "HyperV" };
  // These vendors also sell physical machines; the product name distinguishes them.
  if (/\.metal/i.test(product)) return { virtual: "physical" };
  const words = `${vendor} ${product} ${dmi(host, "bios_vendor") ?? ""} ${dmi(host, "board_vendor") ?? ""}`;
  const flags = /^flags\s*:(.*)$/m.exec(host.read("/proc/cpuinfo") ?? "")?.[1] ?? "";
  const hypervisor = / hypervisor( |$)/.test(flags) || host.exists("/sys/hypervisor/properties");
  const named = machines.find(([pattern]) => pattern.test(words))?.[1];
  if (named !== undefined) return { virtual: named === "qemu" && hypervisor ? "kvm" : named };
  if (/qemu|kvm/i.test(host.read("/proc/device-tree/hypervisor/compatible") ?? "")) return { virtual: "kvm" };
  return { virtual: hypervisor ? "VM" : "physical" };
}

function virtualOf(host: Host): Virtual | undefined {
  if (host.platform !== "linux") return undefined;
  const container = containerOf(host);
  return container === undefined ? machineOf(host) : { virtual: "container", virtual_subtype: container };
}

function readIfAllowed(host: Host, path: string): string | undefined {
  try {
    return host.read(path);
  } catch (cause) {
    if (isErrno(cause, "EACCES") || isErrno(cause, "EPERM")) return undefined;
    throw cause;
  }
}

/** Whether this is a container, a virtual machine or a physical machine, with Salt's values. */
export const virtualFacts: FactTable = {
  virtual: (host) => virtualOf(host)?.virtual,
  virtual_subtype: (host) => virtualOf(host)?.virtual_subtype,
};
