import { expect, setDefaultTimeout, test } from "bun:test";
import { readTextIfPresent } from "../../internal/base/files/file.ts";
import { installPackages } from "../harness/host-packages.ts";
import { hostTimeoutMs, openPrivateRoot, type PrivateRoot } from "../harness/private-root.ts";
import { brief, output } from "../harness/state-trips.ts";

setDefaultTimeout(hostTimeoutMs);

test("physical volumes, volume groups and logical volumes, without activation", async () => {
  requireIsolation();
  await using root = await openPrivateRoot();
  await installPackages(root, "lvm");
  const [first = "", second = "", third = ""] = await makeDevices(root);
  await output(root, `mkfs.ext4 -q ${third}; ln -s ${first} /dev/disk-first`);
  // What needs a device mapper is left out: a volume that is active, and what would be written to it.
  const inactive = "{zero: false}, {activate: false}";
  const there = `
${first}:
  lvm.pv_present: []
data:
  lvm.vg_present: [{devices: [/dev/disk-first]}, {physicalextentsize: 1m}, {addtag: svc}]
logs:
  lvm.lv_present: [{vgname: data}, {size: 8M}, ${inactive}]
rest:
  lvm.lv_present: [{vgname: data}, {extents: 50%FREE}, ${inactive}]
`;
  const all = (ids: string, result: string) => ids.replace(/\S+/g, (id) => `${id}:${result}`);
  const ids = `${first} data logs rest`;
  const probe =
    "pvs --noheadings -o pv_name,vg_name 2>/dev/null; lvs --noheadings --units m -o lv_full_name,lv_size 2>/dev/null";
  const words = async () => (await output(root, probe)).split(/\s+/).filter((each) => each !== "");
  expect(await brief(root, there, { test: true })).toBe(all(ids, "null+"));
  expect(await words()).toEqual([]);
  expect(await brief(root, there)).toBe(all(ids, "true+"));
  // LVM shows the device by its other name.
  expect(await words()).toEqual(["/dev/disk-first", "data", "data/logs", "8.00m", "data/rest", "19.00m"]);
  expect(await output(root, "vgs --noheadings -o vg_tags,vg_extent_size data 2>/dev/null")).toMatch(
    /^svc +1.00m$/,
  );
  expect(await brief(root, there)).toBe(all(ids, "true"));

  // A group gets another device, and a volume grows; one never becomes smaller.
  const more = there.replace("[/dev/disk-first]", `[${first}, ${second}]`).replace("8M", "10.5M");
  expect(await brief(root, more)).toBe(`${first}:true data:true+ logs:true+ rest:true`);
  expect(await words()).toEqual([
    "/dev/disk-first",
    "data",
    second,
    "data",
    "data/logs",
    "11.00m",
    "data/rest",
    "19.00m",
  ]);
  expect(await brief(root, more)).toBe(all(ids, "true"));
  expect(await brief(root, there)).toBe(all(ids, "true"));

  const refusals = {
    [`${third}:\n  lvm.pv_present: []\n`]: "contains ext4: it is not overwritten",
    [`data:\n  lvm.vg_present: [{devices: [${third}]}]\n`]: "contains ext4",
    [`other:\n  lvm.vg_present: [{devices: [${first}]}]\n`]: "is in the volume group data already",
    [`${first}:\n  lvm.pv_absent: []\n`]: "is in the volume group data: remove that first",
    "data:\n  lvm.vg_absent: []\n": "has the logical volume",
    [`huge:\n  lvm.lv_present: [{vgname: data}, {size: 9G}, ${inactive}]\n`]: "insufficient free space",
  };
  for (const [sls, said] of Object.entries(refusals)) {
    const [refused] = await root.apply(sls);
    expect(refused).toMatchObject({ result: false, comment: expect.stringContaining(said) });
  }
  expect(await output(root, `blkid -p -s TYPE -o value ${third}`)).toBe("ext4");

  const gone = `
logs:
  lvm.lv_absent: [{vgname: data}]
rest:
  lvm.lv_absent: [{vgname: data}]
data:
  lvm.vg_absent: []
${first}:
  lvm.pv_absent: []
`;
  const removed = `logs rest data ${first}`;
  expect(await brief(root, gone)).toBe(all(removed, "true+"));
  expect(await brief(root, gone)).toBe(all(removed, "true"));
  expect(await words()).toEqual([second]);
});

/**
 * The device mapper and the daemon that watches devices are those of the whole machine: with one of them, volumes of
 * a private root would reach it.
 */
function requireIsolation(): void {
  const hasMapper = /\bdevice-mapper$/m.test(readTextIfPresent("/proc/misc") ?? "");
  const hasUdev = readTextIfPresent("/run/udev/control") !== undefined;
  if (!hasMapper && !hasUdev) return;
  throw new Error(
    "this machine cannot run the states of LVM: its device mapper or udev would see the volumes of the test",
  );
}

/** Three block devices of files in memory. The kernel frees them as soon as the private root ends. */
async function makeDevices(root: PrivateRoot): Promise<string[]> {
  const script = `set -e
cat >/etc/lvm/lvm.conf <<'END'
devices { use_devicesfile = 0 obtain_device_list_from_udev = 0 external_device_info_source = "none" }
activation { udev_sync = 0 udev_rules = 0 monitoring = 0 }
global { activation = 0 }
END
mknod /dev/loop-control c 10 237
for each in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do mknod /dev/loop$each b 7 $each; done
for each in first second third; do
  truncate -s 48M /srv/$each
  device=$(losetup --find --show /srv/$each)
  # Opened here: the process that keeps it may start after the next command, and what nothing has open is free again.
  exec 3<$device
  setsid sleep infinity <&3 >/dev/null 2>&1 &
  # It goes when nothing has it open any more.
  losetup --detach $device
  exec 3<&-
  echo $device
done`;
  return (await output(root, script)).split("\n");
}
