import { describe, expect, test } from "bun:test";
import { planOn } from "../../../../test/harness/planned-state.ts";
import { failureOf } from "../../../../test/harness/settle-state.ts";
import { fixtureSystem } from "../../../../test/harness/system.ts";

/** A host whose `/proc/modules` follows modprobe. */
function host({ loaded = [] as string[], files = {}, init = "systemd" } = {}) {
  const names = new Set(loaded);
  const lines = () => [...names].map((name) => `${name} 16384 0 - Live 0x0000000000000000\n`).join("");
  const system = fixtureSystem({
    files: {
      "/proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
      "/lib/modules/6.1.0-18-amd64/modules.builtin": "kernel/fs/ext4/ext4.ko\nkernel/net/ipv6/ipv6.ko\n",
      "/proc/modules": lines(),
      ...files,
    },
    facts: { init },
    answer([, first = "", second = ""]) {
      if (first === "-r") names.delete(second.replaceAll("-", "_"));
      else names.add(first.replaceAll("-", "_"));
      system.files.set("/proc/modules", lines());
      return {};
    },
  });
  return system;
}

describe("kmod.present", () => {
  test("loads modules, now and at boot, once", async () => {
    const system = host();
    const args = { mods: ["br-netfilter", "ext4"], persist: true };
    const { plan } = await planOn(system, "kmod.present", "net", args);
    expect(plan.changes).toEqual({
      "br-netfilter": "loaded",
      "/etc/modules-load.d/svc.conf": expect.stringContaining("+br-netfilter\n+ext4\n"),
    });
    await plan.apply?.();
    expect(system.ran).toEqual(["modprobe br-netfilter"]);
    expect(system.files.get("/etc/modules-load.d/svc.conf")).toBe("br-netfilter\next4\n");
    expect((await planOn(system, "kmod.present", "net", args)).plan).toMatchObject({ changes: {} });
  });

  test("uses the list that there is, and its comment", async () => {
    const system = host({ loaded: ["loop"], files: { "/etc/modules": "# loop\ndummy\n" }, init: "sysvinit" });
    await (await planOn(system, "kmod.present", "loop", { persist: true })).plan.apply?.();
    expect(system.files.get("/etc/modules")).toBe("loop\ndummy\n");
    expect(system.ran).toEqual([]);
  });
});

describe("kmod.absent", () => {
  test("unloads a module, and comments it out wherever it is loaded at boot", async () => {
    const files = {
      "/etc/modules": "br-netfilter\n",
      "/etc/modules-load.d/k8s.conf": "overlay\nbr_netfilter\n",
    };
    const system = host({ loaded: ["br_netfilter"], files });
    const { plan } = await planOn(system, "kmod.absent", "br_netfilter", { persist: true });
    await plan.apply?.();
    expect(system.ran).toEqual(["modprobe -r br_netfilter"]);
    expect(system.files.get("/etc/modules")).toBe("# br-netfilter\n");
    expect(system.files.get("/etc/modules-load.d/k8s.conf")).toBe("overlay\n# br_netfilter\n");
    expect((await planOn(system, "kmod.absent", "br_netfilter", { persist: true })).plan).toMatchObject({
      changes: {},
    });
  });

  test("removes the lines without comment", async () => {
    const system = host({ files: { "/etc/modules": "dummy\n" } });
    await (await planOn(system, "kmod.absent", "dummy", { persist: true, comment: false })).plan.apply?.();
    expect(system.files.get("/etc/modules")).toBe("");
  });
});

test.each([
  ["kmod.present", "-r", "is not a name of a kernel module"],
  ["kmod.present", "../x", "is not a name of a kernel module"],
  ["kmod.present", "dummy", "modprobe ran, but dummy is not loaded"],
])("%s refuses %p", async (called, name, message) => {
  expect(await failureOf({ files: { "/proc/modules": "" } }, called, name)).toContain(message);
});

test("a part of the kernel cannot be unloaded", async () => {
  const files = {
    "/proc/sys/kernel/osrelease": "6.1\n",
    "/lib/modules/6.1/modules.builtin": "kernel/fs/ext4/ext4.ko\n",
  };
  expect(await failureOf({ files }, "kmod.absent", "ext4")).toContain("a part of the running kernel");
});
