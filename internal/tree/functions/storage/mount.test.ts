import { describe, expect, test } from "bun:test";
import { planOn, refusal } from "../../../../test/harness/planned-state.ts";
import { fixtureSystem, type SystemFixture } from "../../../../test/harness/system.ts";
import { parseMountInfo } from "../../../host/facts/mod.ts";
import type { CallArgs } from "../../../host/modules/function.ts";
import { mountOn } from "./mount-table.ts";

const root = "22 1 8:1 / / rw - ext4 /dev/sda1 rw";

/** A host with these mounts besides its root; `umount` and `mount` change the table as the kernel does. */
function hostWith(mounts: readonly string[], fixture: SystemFixture = {}) {
  const table = [root, ...mounts];
  const text = () => `${table.join("\n")}\n`;
  const system = fixtureSystem({
    ...fixture,
    files: { "/proc/self/mountinfo": text(), ...fixture.files },
    answer([program, ...args]) {
      const top = mountOn(parseMountInfo(text()), args.at(-1) ?? "");
      if (program !== "umount") return {};
      if (top === undefined) return { code: 32, stderr: "not mounted" };
      table.splice(
        table.findIndex((line) => line.startsWith(`${top.id} `)),
        1,
      );
      system.files.set("/proc/self/mountinfo", text());
      return {};
    },
  });
  return system;
}

/** Whether what is mounted on /mnt is what a state wants; otherwise the failure. */
async function judge(mounts: readonly string[], args: CallArgs, fixture: SystemFixture = {}) {
  const wanted = { fstype: "none", persist: false, ...args };
  return planOn(hostWith(mounts, fixture), "mount.mounted", "/mnt", wanted).then(
    ({ plan }) => plan.apply === undefined,
    (thrown: Error) => thrown.message,
  );
}

describe("a path with a symbolic link", () => {
  const links = { "/srv/link": "real" };
  const files = { "/srv/real/data/file": "" };

  test("is mounted once", async () => {
    const args = { device: "tmpfs", fstype: "tmpfs" };
    const system = hostWith(["30 22 0:40 / /srv/real/data rw - tmpfs tmpfs rw"], { links, files });
    const { plan } = await planOn(system, "mount.mounted", "/srv/link/data", { ...args, persist: false });
    expect(plan.apply).toBeUndefined();
    const { plan: first } = await planOn(
      hostWith([], { links, files }),
      "mount.mounted",
      "/srv/link/data",
      args,
    );
    expect(first.changes).toMatchObject({ "/srv/link/data": { old: "", new: "tmpfs" } });
  });

  test("is unmounted, with every mount on it and every entry of fstab for it", async () => {
    const fstab =
      "a /srv/real/data/ tmpfs defaults 0 0\nb /srv/link/data tmpfs defaults 0 0\nc /srv/real tmpfs noauto 0 0\n";
    const mounts = [
      "30 22 0:40 / /srv/real/data rw - tmpfs one rw",
      "31 30 0:41 / /srv/real/data rw - tmpfs two rw",
    ];
    const system = hostWith(mounts, { links, files: { ...files, "/etc/fstab": fstab } });
    const { plan } = await planOn(system, "mount.unmounted", "/srv/link/data", { persist: true });
    await plan.apply?.();
    expect(system.ran).toEqual(["umount /srv/real/data", "umount /srv/real/data"]);
    expect(system.read("/etc/fstab")).toBe("c /srv/real tmpfs noauto 0 0\n");
    const again = await planOn(system, "mount.unmounted", "/srv/link/data", { persist: true });
    expect(again.plan.apply).toBeUndefined();
  });

  test("keeps the name that fstab has for it", async () => {
    const fstab = "tmpfs /srv/real/data tmpfs defaults 0 0\n";
    const mounts = ["30 22 0:40 / /srv/real/data rw - tmpfs tmpfs rw"];
    const system = hostWith(mounts, { links, files: { ...files, "/etc/fstab": fstab } });
    const args = { device: "tmpfs", fstype: "tmpfs" };
    expect((await planOn(system, "mount.mounted", "/srv/link/data", args)).plan.apply).toBeUndefined();
    const { plan } = await planOn(system, "mount.mounted", "/srv/link/data", { ...args, opts: ["size=1m"] });
    await plan.apply?.();
    expect(system.read("/etc/fstab")).toBe("tmpfs\t/srv/real/data\ttmpfs\tsize=1m\t0\t0\n");
  });

  test("to a directory that the host needs is never unmounted", async () => {
    const fixture = { links: { "/srv/link": "/usr" }, files: { "/usr/bin/x": "" } };
    expect(await refusal(hostWith([], fixture), "mount.unmounted", "/srv/link")).toBe(
      "/usr is never unmounted, because the host needs it",
    );
  });
});

test("a mount that something above it hides is not mounted", async () => {
  const mounts = [
    "30 22 0:40 / /srv/a/b rw - tmpfs tmpfs rw",
    "31 22 0:41 / /srv/a rw - tmpfs tmpfs rw",
    "32 31 0:42 / /srv/a/c rw - tmpfs tmpfs rw",
  ];
  const at = (path: string) => mountOn(parseMountInfo([root, ...mounts].join("\n")), path)?.id;
  expect(["/", "/srv", "/srv/a", "/srv/a/b", "/srv/a/c", "/srv/a/c/d"].map(at)).toEqual([
    "22",
    undefined,
    "31",
    undefined,
    "32",
    undefined,
  ]);
  expect((await planOn(hostWith(mounts), "mount.unmounted", "/srv/a/b")).plan.apply).toBeUndefined();
});

test("an unmount that leaves the mount is a failure", async () => {
  const files = { "/proc/self/mountinfo": `${root}\n30 22 0:40 / /mnt rw - tmpfs tmpfs rw\n` };
  const { plan } = await planOn({ files }, "mount.unmounted", "/mnt");
  await expect(plan.apply?.()).rejects.toThrow("tmpfs is still mounted on /mnt");
});

describe("a bind mount", () => {
  const files = { "/srv/a/file": "", "/srv/b/file": "" };
  const bind = (from: string) => ({ device: from, opts: ["bind"] });
  const instead = (what: string, of: string) =>
    `${what} is mounted on /mnt instead of ${of}; unmount it first`;

  test.each<[string, string, CallArgs, boolean | string]>([
    ["the directory", "8:1 /srv/a", bind("/srv/a"), true],
    ["options in one text", "8:1 /srv/a", { device: "/srv/a", opts: ["bind,ro"] }, true],
    ["rbind", "8:1 /srv/a", { device: "/srv/a", opts: ["rbind"] }, true],
    ["through a link", "8:1 /srv/a", bind("/srv/link"), true],
    ["another directory", "8:1 /srv/b", bind("/srv/a"), instead("/dev/sda1[/srv/b]", "/srv/a")],
    ["another file system", "8:2 /srv/a", bind("/srv/a"), instead("/dev/sda1[/srv/a]", "/srv/a")],
    [
      "a directory that was removed",
      "8:1 /srv/a//deleted",
      bind("/srv/a"),
      instead("/dev/sda1[/srv/a//deleted]", "/srv/a"),
    ],
    [
      "the disk",
      "8:1 /srv/a",
      { device: "/dev/sda1", fstype: "ext4" },
      instead("/dev/sda1[/srv/a]", "/dev/sda1"),
    ],
    ["something below itself", "8:1 /mnt/x", bind("/mnt/x"), true],
  ])("%s", async (_, place, args, expected) => {
    const mounts = [`30 22 ${place} /mnt rw - ext4 /dev/sda1 rw`];
    expect(await judge(mounts, args, { files, links: { "/srv/link": "/srv/a" } })).toBe(expected);
  });

  test("of a directory in another mount", async () => {
    const other = "29 22 8:2 /vol /data rw - btrfs /dev/sdb rw";
    const mounts = [other, "30 22 8:2 /vol/x /mnt rw - btrfs /dev/sdb rw"];
    expect(await judge(mounts, bind("/data/x"))).toBe(true);
    expect(await judge(mounts, bind("/data"))).toBe(instead("/dev/sdb[/vol/x]", "/data"));
  });
});

describe("names of what is mounted", () => {
  const links = {
    "/dev/vg/lv": "../dm-0",
    "/dev/mapper/vg-lv": "../dm-0",
    "/dev/disk/by-uuid/1-2": "../../sdb1",
    "/dev/disk/by-label/data": "../../sdb1",
    "/sys/dev/block/8:17": "../../devices/pci/block/sdb/sdb1",
  };
  const files = { "/sys/block/loop3/loop/backing_file": "/srv/image\n" };
  test.each<[string, string, CallArgs, boolean]>([
    ["ext4 /dev/mapper/vg-lv", "254:0 /", { device: "/dev/vg/lv" }, true],
    ["ext4 /dev/mapper/vg-lv", "254:0 /", { device: "/dev/vg/other" }, false],
    ["ext4 /dev/sdb1", "8:17 /", { device: "UUID=1-2" }, true],
    ["ext4 /dev/sdb1", "8:17 /", { device: 'LABEL="data"' }, true],
    ["ext4 /dev/root", "8:17 /", { device: "UUID=1-2" }, true],
    ["ext4 /dev/sdc1", "8:33 /", { device: "UUID=1-2" }, false],
    ["ext4 /dev/loop3", "7:3 /", { device: "/srv/image", opts: ["loop"] }, true],
    ["ext4 /dev/loop3", "7:3 /", { device: "/srv/other", opts: ["loop"] }, false],
    ["ext4 /dev/sdb1", "8:17 /", { device: "/srv/image", opts: ["loop"] }, false],
    ["btrfs /dev/sdb1", "0:50 /@data", { device: "UUID=1-2", opts: ["subvol=@data"] }, true],
    ["btrfs /dev/sdb1", "0:50 /@data", { device: "UUID=1-2", opts: ["subvol=/@other"] }, false],
    ["btrfs /dev/sdb1", "0:50 /@data", { device: "UUID=1-2" }, true],
    ["cifs //server/share", "0:51 /", { device: "//server/share", fstype: "cifs" }, true],
    ["cifs //SERVER/share", "0:51 /", { device: "\\\\server\\Share", fstype: "cifs" }, true],
    ["cifs //server/share", "0:51 /", { device: "//server/other", fstype: "cifs" }, false],
    ["nfs4 server:/a", "0:52 /", { device: "server:/a/", fstype: "nfs" }, true],
    ["nfs4 server:/a", "0:52 /", { device: "server:/b", fstype: "nfs" }, false],
    ["nfs4 [fd00::1]:/a", "0:52 /a", { device: "[fd00::1]:/a", fstype: "nfs4" }, true],
    ["tmpfs any", "0:53 /", { device: "none", fstype: "tmpfs" }, true],
    ["tmpfs tmpfs", "0:53 /", { device: "/dev/sdb1", fstype: "ext4" }, false],
    ["ext4 /dev/sdb1", "8:17 /", { device: "tmpfs", fstype: "tmpfs" }, false],
    ["proc none", "0:54 /", { device: "none", fstype: "tmpfs" }, false],
    ["autofs systemd-1", "0:55 /", { device: "UUID=1-2", opts: ["x-systemd.automount"] }, true],
    ["autofs systemd-1", "0:55 /", { device: "UUID=1-2" }, false],
    ["fuse.sshfs me@host:/x", "0:56 /", { device: "me@host:/x", fstype: "fuse.sshfs" }, true],
    ["fuse.sshfs me@host:/x", "0:56 /", { device: "me@host:/y", fstype: "fuse.sshfs" }, false],
    ["zfs tank/data", "0:57 /", { device: "tank/data", fstype: "zfs" }, true],
    ["zfs tank/data", "0:57 /", { device: "tank/other", fstype: "zfs" }, false],
  ])("%s (%s) for %j: %p", async (source, place, args, expected) => {
    const [fstype = "", ...named] = source.split(" ");
    const mounts = [`30 22 ${place} /mnt rw - ${fstype} ${named.join("\\040")} rw`];
    const judged = await judge(mounts, { fstype, ...args }, { links, files });
    expect(judged === true).toBe(expected);
  });
});
