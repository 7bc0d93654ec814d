import type { Plain } from "../../base/msgpack.ts";
import type { FactTable } from "./fact.ts";
import type { Host } from "./host.ts";

const mebibyte = 1024 * 1024;
const sectorBytes = 512;
const maxMounts = 256;

export interface Mount {
  id: string;
  /** The mount that this one is in; not in the table for the first one. */
  parent: string;
  /** Device numbers, such as `8:1`. */
  device: string;
  /** The mounted directory of the file system: `/`, except for a bind mount or a subvolume. */
  root: string;
  path: string;
  fstype: string;
  source: string;
}

/** Parses /proc/self/mountinfo (proc_pid_mountinfo(5)). */
export function parseMountInfo(text: string): Mount[] {
  return text.split("\n").flatMap((line) => {
    const [before, after] = line.split(" - ");
    const [id = "", parent = "", device, root, path] = (before ?? "").split(" ");
    const [fstype, source] = (after ?? "").split(" ");
    if (device === undefined || root === undefined || path === undefined || !fstype) return [];
    return [
      {
        ...{ id, parent, device, fstype },
        ...{ root: unescaped(root), path: unescaped(path), source: unescaped(source ?? "") },
      },
    ];
  });
}

const networkTypes =
  /^(nfs4?|cifs|smb3?|ceph|glusterfs|fuse\.(sshfs|glusterfs|ceph|s3fs)|lustre|9p|virtiofs|afs)$/;
/** Mounts below these paths are short-lived: they belong to containers, guests and logins. */
const shortLived =
  /^\/(run|proc|sys|dev|var\/lib\/(docker|containers|containerd|kubelet|rancher|lxd|lxcfs)|var\/snap|snap)\//;

/**
 * The permanent mounts of the host: of disks, of ZFS and of network file systems. Of several bind mounts of a
 * file system the first one is used. The root is always included.
 */
export function lastingMounts(mounts: readonly Mount[]): Mount[] {
  const seen = new Set<string>();
  // A later mount hides an earlier one at the same path.
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

/** Physical devices; loop, memory and device mapper devices are short-lived. */
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
  // An unavailable server would block, and the size of a ZFS data set changes with its pool.
  if (!mount.source.startsWith("/dev/")) return facts;
  // A mount that this user cannot access is still listed.
  const size = await host.fileSystemSize(mount.path).catch(() => undefined);
  return size === undefined ? facts : { ...facts, size: Math.floor(size / mebibyte) };
}

/** Disks and mounts; sizes in MiB. Does not include usage, which changes constantly. */
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
