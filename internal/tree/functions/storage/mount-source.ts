import { basename } from "node:path";
import type { Mount } from "../../../host/facts/mod.ts";
import type { System } from "../../../host/system/system.ts";
import { mountTable, placeOf } from "./mount-table.ts";

/** What a state wants mounted. */
export interface WantedMount {
  device: string;
  fstype: string;
  /** Each may hold several, with commas. */
  opts: readonly string[];
}

/** File systems without a device: any word may be given as one. */
const withoutDevice = new Set(
  "tmpfs ramfs devtmpfs devpts proc sysfs cgroup cgroup2 securityfs debugfs tracefs configfs mqueue hugetlbfs bpf efivarfs pstore fusectl binfmt_misc overlay".split(
    " ",
  ),
);
const shares = /^(cifs|smb3?)$/;

/** Whether what is mounted is what a state wants, under any of its names. */
export function isSameSource(system: System, wanted: WantedMount, mounted: Mount): boolean {
  const { device, fstype } = wanted;
  const opts = wanted.opts.flatMap((each) => each.split(","));
  if (opts.includes("bind") || opts.includes("rbind")) return isBoundFrom(system, device, mounted);
  // systemd mounts it by its entry in fstab on the first access.
  if (mounted.fstype === "autofs") return opts.includes("x-systemd.automount");
  if (withoutDevice.has(mounted.fstype) || withoutDevice.has(fstype)) return mounted.fstype === fstype;
  if (/^fuse(\.|$)/.test(mounted.fstype)) return isNamed(device, mounted.source) || device.startsWith("/");
  if (shares.test(mounted.fstype)) return shareName(device) === shareName(mounted.source);
  return (isNamed(device, mounted.source) || isDevice(system, device, mounted)) && isPart(opts, mounted);
}

/** A bind mount shows a directory; the file system that it is in is the source of many mounts. */
function isBoundFrom(system: System, directory: string, mounted: Mount): boolean {
  const place = placeOf(mountTable(system), system.realPath(directory), mounted);
  return place?.device === mounted.device && place.root === mounted.root;
}

function isNamed(device: string, source: string): boolean {
  return withoutSlash(device) === withoutSlash(source);
}

/** A block device has many names, and an image is mounted through a loop device. */
function isDevice(system: System, device: string, { source, device: numbers }: Mount): boolean {
  const [, key = "", value = ""] = /^(UUID|LABEL|PARTUUID|PARTLABEL|ID)="?(.*?)"?$/.exec(device) ?? [];
  const path = key === "" ? device : `/dev/disk/by-${key.toLowerCase()}/${value}`;
  if (!path.startsWith("/")) return false;
  const real = system.realPath(path);
  const [, loop] = /^\/dev\/(loop\d+)$/.exec(system.realPath(source)) ?? [];
  const image = loop === undefined ? undefined : system.read(`/sys/block/${loop}/loop/backing_file`)?.trim();
  if (image !== undefined && image === real) return true;
  if (!real.startsWith("/dev/")) return false;
  if (source.startsWith("/") && system.realPath(source) === real) return true;
  return basename(system.linkTarget(`/sys/dev/block/${numbers}`) ?? "") === basename(real);
}

/** Of a disk, a state wants the whole file system, or the part of it that its options name. */
function isPart(opts: readonly string[], { fstype, source, root }: Mount): boolean {
  if (!source.startsWith("/")) return true;
  const named = opts.flatMap((each) => /^(?:subvol|X-mount\.subdir)=\/*(.*?)\/*$/.exec(each)?.[1] ?? [])[0];
  if (named !== undefined) return root === `/${named}`;
  return fstype === "btrfs" || fstype === "bcachefs" || root === "/";
}

/** Servers of SMB compare names without case. */
function shareName(device: string): string {
  return withoutSlash(device.replaceAll("\\", "/")).toLowerCase();
}

function withoutSlash(text: string): string {
  return text.replace(/(.)\/+$/, "$1");
}
