import type { Plain } from "../../base/msgpack.ts";
import type { FactTable } from "./fact.ts";
import type { Host } from "./host.ts";

const mebibyte = 1024 * 1024;
const sectorBytes = 512;
const maxMounts = 256;

export interface Mount {
  /** Numbers of the device, `8:1`. */
  device: string;
  /** The directory of the file system that is mounted: `/`, unless it is a bind mount or a subvolume. */
  root: string;
  path: string;
  fstype: string;
  source: string;
}

/** Parses /proc/self/mountinfo (proc_pid_mountinfo(5)). */
export function parseMountInfo(text: string): Mount[] {
  return text.split("\n").flatMap((line) => {
    const [before, after] = line.split(" - ");
    const [, , device, root, path] = (before ?? "").split(" ");
    const [fstype, source] = (after ?? "").split(" ");
    if (device === undefined || root === undefined || path === undefined || !fstype) return [];
    return [
      { device, root: unescaped(root), path: unescaped(path), fstype, source: unescaped(source ?? "") },
    ];
  });
}

const networkTypes =
  /^(nfs4?|cifs|smb3?|ceph|glusterfs|fuse\.(sshfs|glusterfs|ceph|s3fs)|lustre|9p|virtiofs|afs)$/;
/** Below these, mounts come and go with containers, guests and people. */
const shortLived =
  /^\/(run|proc|sys|dev|var\/lib\/(docker|containers|containerd|kubelet|rancher|lxd|lxcfs)|var\/snap|snap)\//;

/**
 * The mounts that say something about the host: those of disks, of ZFS and of other hosts. Where one file
 * system is bound to several places the first one counts; the root is always there.
 */
export function lastingMounts(mounts: readonly Mount[]): Mount[] {
  const seen = new Set<string>();
  // A later mount hides an earlier one at the same place.
  const visible = [...new Map(mounts.map((mount) => [mount.path, mount])).values()];
  return visible
    .filter((mount) => {
      if (mount.path === "/") return true;
      if (shortLived.test(`${mount.path}/`)) return false;
      if (networkTypes.test(mount.fstype)) return true;
      const disk = mount.source.startsWith("/dev/") && !mount.source.startsWith("/dev/loop");
      if (!disk && mount.fstype !== "zfs") return false;
      if (mount.root !== "/" && mount.fstype !== "btrfs") return false;
      const key = `${mount.device} ${mount.root}`;
      if (seen.has(key)) return false;
      seen.add(key);
      return true;
    })
    .slice(0, maxMounts);
}

/** Real devices: those of loops, memory and the device mapper come and go. */
function realDisks(host: Host, rotational: "0" | "1"): string[] {
  return host
    .list("/sys/block")
    .filter(
      (name) =>
        !/^(loop|ram|zram|sr|fd)\d/.test(name) &&
        host.exists(`/sys/block/${name}/device`) &&
        host.read(`/sys/block/${name}/queue/rotational`)?.trim() === rotational,
    );
}

async function describeMount(host: Host, mount: Mount): Promise<{ [key: string]: Plain }> {
  const facts = { device: mount.source, fstype: mount.fstype };
  // A server that is away would be waited for, and a data set of ZFS grows and shrinks with its pool.
  if (!mount.source.startsWith("/dev/")) return facts;
  // One that this user may not look at still is there.
  const size = await host.fileSystemSize(mount.path).catch(() => undefined);
  return size === undefined ? facts : { ...facts, size: Math.floor(size / mebibyte) };
}

/** Disks and what is mounted; sizes in MiB. Nothing about how full they are. */
export const diskFacts: FactTable = {
  disks: (host) => (host.platform === "linux" ? realDisks(host, "1") : undefined),
  ssds: (host) => (host.platform === "linux" ? realDisks(host, "0") : undefined),
  disk_sizes(host) {
    if (host.platform !== "linux") return undefined;
    const names = [...realDisks(host, "0"), ...realDisks(host, "1")];
    return Object.fromEntries(
      names.map((name) => {
        const sectors = Number(host.read(`/sys/block/${name}/size`) ?? 0);
        return [name, Math.floor((sectors * sectorBytes) / mebibyte)];
      }),
    );
  },
  async mounts(host) {
    const text = host.read("/proc/self/mountinfo");
    if (text === undefined) return undefined;
    const mounts = lastingMounts(parseMountInfo(text));
    const described = await Promise.all(
      mounts.map(async (mount) => [mount.path, await describeMount(host, mount)] as const),
    );
    return Object.fromEntries(described);
  },
};

function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
