import { expect, test } from "bun:test";
import { factText, hostLines } from "./host-facts.ts";

test("the first look at a host names what people look for", () => {
  const facts = {
    ...{ os: "Debian", osfullname: "Debian GNU/Linux", osrelease: "12.5" },
    ...{ kernel: "Linux", kernelrelease: "6.1.0-18-amd64", cpuarch: "x86_64" },
    ...{ num_cpus: 8, cpu_model: "AMD EPYC 7402P", mem_total: 262_144, swap_total: 1_536 },
    mounts: {
      "/": { device: "/dev/sda1", fstype: "ext4", size: 40_960 },
      "/srv": { fstype: "xfs", size: 1_887_437 },
    },
    ...{ virtual: "kvm", timezone: "Europe/Berlin", productname: "" },
  };
  expect(hostLines(facts).map(({ name, value }) => `${name}: ${value}`)).toEqual([
    "System: Debian GNU/Linux 12.5",
    "Kernel: Linux 6.1.0-18-amd64 x86_64",
    "Processors: 8 \u00d7 AMD EPYC 7402P",
    "Memory: 256 GiB and 1.5 GiB of swap",
    "Disks: / 40 GiB ext4, /srv 1.8 TiB xfs",
    "Runs in: kvm",
    "Time zone: Europe/Berlin",
  ]);
});

test("facts that are not as they should be are left out", () => {
  expect(hostLines(undefined)).toEqual([]);
  expect(hostLines({ os: 7, mem_total: "much", mounts: ["/"], num_cpus: null })).toEqual([]);
});

test.each([
  ["mem_total", "262144", "256 GiB (262144 MiB)"],
  ["mounts:/srv:size", "512", "512 MiB (512 MiB)"],
  ["num_cpus", "8", "8"],
  ["gpus", "{}", "empty"],
  ["domain", "", "empty"],
  ["mem_total", "much", "much"],
])("the fact %s of %p is %p", (path, text, shown) => {
  expect(factText(path, text)).toBe(shown);
});
