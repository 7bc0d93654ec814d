import { describe, expect, test } from "bun:test";
import { problemsOf } from "../../../../test/harness/planned-state.ts";
import { failureOf, settleState } from "../../../../test/harness/settle-state.ts";
import type { SystemFixture } from "../../../../test/harness/system.ts";

interface Disks {
  pvs: Record<string, string>;
  vgs: string[];
  lvs: { name: string; group: string; bytes: number }[];
  blkid?: string;
}

/** A host with LVM 2.03.16, whose reports have this form. */
function host({ pvs, vgs, lvs, blkid }: Disks): SystemFixture {
  const extent = 4 * 2 ** 20;
  const reportOf = (part: string, rows: object[]) => ({
    stdout: JSON.stringify({ report: [{ [part]: rows }] }),
  });
  return {
    programs: ["pvs", "vgs", "lvs"],
    answer([program, ...argv]) {
      const last = argv.at(-1) ?? "";
      const names = argv.filter((word) => word.startsWith("/dev/"));
      switch (program) {
        case "pvs":
          return reportOf(
            "pv",
            Object.entries(pvs).map(([pv_name, vg_name]) => ({ pv_name, vg_name })),
          );
        case "vgs":
          return reportOf(
            "vg",
            vgs.map((vg_name) => ({ vg_name })),
          );
        case "lvs":
          return reportOf(
            "lv",
            lvs.map(({ name, group, bytes }) => ({
              ...{ lv_name: name, vg_name: group, lv_size: `${bytes}`, vg_extent_size: `${extent}` },
            })),
          );
        case "blkid":
          return blkid === undefined ? { code: 2 } : { stdout: blkid };
        case "pvcreate":
          pvs[last] = "";
          return {};
        case "pvremove":
          delete pvs[last];
          return {};
        case "vgcreate":
        case "vgextend": {
          const name = argv.find((word) => /^[a-z]\w*$/.test(word)) ?? "";
          if (!vgs.includes(name)) vgs.push(name);
          for (const each of names) pvs[each] = name;
          return {};
        }
        case "vgremove":
          vgs.splice(vgs.indexOf(last), 1);
          return {};
        case "lvcreate": {
          const name = argv[argv.indexOf("-n") + 1] ?? "";
          lvs.push({ name, group: "data", bytes: Number(/^(\d+)b$/.exec(argv[4] ?? "")?.[1] ?? extent) });
          return {};
        }
        case "lvextend":
          for (const each of lvs) each.bytes = Number.parseInt(argv[2] ?? "", 10);
          return {};
        case "lvremove":
          lvs.length = 0;
          return {};
        default:
          return {};
      }
    },
  };
}
const empty = (): Disks => ({ pvs: {}, vgs: [], lvs: [] });
const used = (): Disks => ({
  pvs: { "/dev/sdb": "data", "/dev/sdc": "" },
  vgs: ["data"],
  lvs: [{ name: "www", group: "data", bytes: 2 ** 30 }],
});

describe("a state of LVM", () => {
  test("creates a physical volume with the options of Salt", async () => {
    const { ran } = await settleState(host(empty()), "lvm.pv_present", "/dev/sdb", { dataalignment: "1m" });
    expect(ran).toEqual(["blkid -p -o export /dev/sdb", "pvcreate --yes --dataalignment=1m /dev/sdb"]);
  });

  test("creates a volume group, and adds to it what is missing", async () => {
    const created = await settleState(host(empty()), "lvm.vg_present", "data", {
      devices: ["/dev/sdb,/dev/sdc"],
    });
    expect(created.ran.at(-1)).toBe("vgcreate --yes data /dev/sdb /dev/sdc");
    const { changes, ran } = await settleState(host(used()), "lvm.vg_present", "data", {
      devices: ["/dev/sdb", "/dev/sdc"],
    });
    expect(changes).toEqual({ data: { added: ["/dev/sdc"] } });
    expect(ran).toEqual(["vgextend --yes data /dev/sdc"]);
  });

  test.each([
    [{ size: "1G" }, "-L 1073741824b -n logs data"],
    [{ size: "512M", pv: "/dev/sdb" }, "-L 536870912b -n logs data /dev/sdb"],
    [{ extents: "100%FREE", stripes: 2 }, "-l 100%FREE --stripes=2 -n logs data"],
    [{ size: "1G", thinvolume: true, vgname: "data/pool" }, "-V 1073741824b -T data/pool -n logs"],
    [{ size: "1G", snapshot: "www" }, "-L 1073741824b -s -n logs data/www"],
  ])("creates a logical volume of %p", async (args, words) => {
    const { ran } = await settleState(host(used()), "lvm.lv_present", "logs", { vgname: "data", ...args });
    expect(ran).toEqual([`lvcreate --yes --wipesignatures y ${words}`]);
  });

  test("lets a logical volume grow, and never makes it smaller", async () => {
    const grown = await settleState(host(used()), "lvm.lv_present", "www", {
      ...{ vgname: "data", size: "2G", resizefs: true },
    });
    expect(grown.ran).toEqual(["lvextend --yes -L 2147483648b --resizefs data/www"]);
    const same = await settleState(host(used()), "lvm.lv_present", "www", { vgname: "data", size: "512M" });
    expect(same.changes).toEqual({});
  });

  test.each([
    ["lvm.lv_absent", "www", { vgname: "data" }, "lvremove --yes data/www"],
    ["lvm.pv_absent", "/dev/sdc", {}, "pvremove --yes /dev/sdc"],
  ])("%s", async (called, name, args, command) => {
    expect((await settleState(host(used()), called, name, args)).ran).toEqual([command]);
  });

  test("removes an empty volume group", async () => {
    const { ran } = await settleState(host({ ...used(), lvs: [] }), "lvm.vg_absent", "data");
    expect(ran).toEqual(["vgremove --yes data"]);
  });
});

describe("data that would be lost is kept", () => {
  test.each([
    ["lvm.pv_present", "/dev/sdd", {}, "/dev/sdd contains ext4: it is not overwritten"],
    ["lvm.vg_present", "more", { devices: ["/dev/sdd"] }, "/dev/sdd contains ext4"],
    ["lvm.vg_present", "more", { devices: ["/dev/sdb"] }, "/dev/sdb is in the volume group data already"],
    ["lvm.vg_absent", "data", {}, "data has the logical volume www"],
    ["lvm.pv_absent", "/dev/sdb", {}, "/dev/sdb is in the volume group data"],
  ])("%s %s", async (called, name, args, message) => {
    expect(await failureOf(host({ ...used(), blkid: "TYPE=ext4\n" }), called, name, args)).toContain(message);
  });
});

test.each([
  ["lvm.pv_present", "sdb", {}, "is not a device"],
  ["lvm.lv_present", "-f", { vgname: "data", size: "1G" }, "is not a name that LVM takes"],
  ["lvm.lv_present", "a", { vgname: "data", size: "much" }, "is not a size"],
])("%s refuses %p", async (called, name, args, message) => {
  expect(await failureOf(host(used()), called, name, args)).toContain(message);
});

test.each([
  [{ vgname: "data" }, "give either size or extents"],
  [{ size: "1G" }, "give vgname"],
  [{ vgname: "data", extents: "all" }, "extents: expected a number"],
  [{ vgname: "data", size: "1G", type: { a: 1 } }, "type: expected a text"],
])("the arguments %p are refused", async (args, message) => {
  expect(await problemsOf("lvm.lv_present", args)).toContain(message);
});
