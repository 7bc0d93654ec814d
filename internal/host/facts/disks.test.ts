import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { fixtureHost } from "../../../test/harness/facts.ts";
import { collectFacts } from "./collect.ts";
import { diskFacts } from "./disks.ts";

const mountinfo = `22 27 0:21 / /proc rw,relatime - proc proc rw
23 27 0:22 / /sys rw - sysfs sysfs rw
25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw
27 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw
28 27 259:2 / /var rw - xfs /dev/nvme0n1p2 rw
29 27 259:2 /log /srv/bound\\040logs rw - xfs /dev/nvme0n1p2 rw
39 27 259:2 / /mnt/again rw - xfs /dev/nvme0n1p2 rw
30 27 0:50 / /run/user/1000 rw - tmpfs tmpfs rw
31 27 7:1 / /opt/image ro - squashfs /dev/loop1 ro
32 27 0:60 / /var/lib/docker/overlay2/abc/merged rw - overlay overlay rw
33 27 8:16 / /var/lib/kubelet/pods/x/volumes/y rw - ext4 /dev/sdb rw
34 27 0:70 / /home rw - nfs4 files.example.com:/home rw
35 27 0:80 / /tank rw - zfs tank rw
36 27 0:90 /@data /data rw - btrfs /dev/sda1 rw
37 27 0:90 /@backup /backup rw - btrfs /dev/sda1 rw
38 27 8:32 / /private rw - ext4 /dev/sdc rw
broken line
`;
const gibibyte = 1024 ** 3;

test("mounts are permanent ones, with sizes if they are stable", async () => {
  const host = fixtureHost({
    files: { "/proc/self/mountinfo": mountinfo },
    sizes: {
      "/": 10 * gibibyte,
      "/var": 20 * gibibyte,
      "/home": 1,
      "/tank": 1,
      "/data": 40 * gibibyte,
      "/backup": 40 * gibibyte,
    },
  });
  const { facts, problems } = await collectFacts(
    { mounts: diskFacts.mounts ?? (() => null) },
    host,
    manualClock(),
  );
  expect(problems).toEqual([]);
  expect(facts.mounts).toEqual({
    "/": { device: "/dev/nvme0n1p1", fstype: "ext4", size: 10_240 },
    "/var": { device: "/dev/nvme0n1p2", fstype: "xfs", size: 20_480 },
    "/home": { device: "files.example.com:/home", fstype: "nfs4" },
    "/tank": { device: "tank", fstype: "zfs" },
    "/data": { device: "/dev/sda1", fstype: "btrfs", size: 40_960 },
    "/backup": { device: "/dev/sda1", fstype: "btrfs", size: 40_960 },
    // Its size is unknown.
    "/private": { device: "/dev/sdc", fstype: "ext4" },
  });
});

test("disks are physical ones, separated by rotation", async () => {
  const host = fixtureHost({
    files: {
      "/proc/self/mountinfo": "",
      "/sys/block/sda/device/model": "x",
      "/sys/block/sda/queue/rotational": "1\n",
      "/sys/block/sda/size": "4194304\n",
      "/sys/block/nvme0n1/device/model": "x",
      "/sys/block/nvme0n1/queue/rotational": "0\n",
      "/sys/block/nvme0n1/size": "2097152\n",
      "/sys/block/sr0/device/model": "x",
      "/sys/block/sr0/queue/rotational": "1\n",
      "/sys/block/loop0/queue/rotational": "0\n",
      "/sys/block/dm-0/queue/rotational": "0\n",
    },
  });
  expect((await collectFacts(diskFacts, host, manualClock())).facts).toEqual({
    disks: ["sda"],
    ssds: ["nvme0n1"],
    disk_sizes: { nvme0n1: 1024, sda: 2048 },
    mounts: {},
  });
});
