import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { fixtureHost } from "../../../test/harness/facts.ts";
import { collectFacts } from "./collect.ts";
import { hardwareFacts, parseCpuInfo, parseMemInfo } from "./hardware.ts";

test.each([
  [
    "x86",
    "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R) CPU @ 2.20GHz\nflags\t\t: fpu vme sse2\n\nprocessor\t: 1\nmodel name\t: Intel(R) Xeon(R) CPU @ 2.20GHz\nflags\t\t: fpu vme sse2\n",
    { model: "Intel(R) Xeon(R) CPU @ 2.20GHz", count: 2, flags: ["fpu", "sse2", "vme"] },
  ],
  [
    "64-bit ARM, which has no model name",
    "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm\nCPU implementer\t: 0x41\n\nprocessor\t: 1\n",
    { model: undefined, count: 2, flags: ["asimd", "evtstrm", "fp"] },
  ],
  [
    "32-bit ARM",
    "processor\t: 0\nmodel name\t: ARMv7 Processor rev 4 (v7l)\nFeatures\t: half thumb\nHardware\t: BCM2835\n",
    { model: "ARMv7 Processor rev 4 (v7l)", count: 1, flags: ["half", "thumb"] },
  ],
  [
    "s390x",
    "vendor_id       : IBM/S390\n# processors    : 2\nfeatures\t: esan3 zarch\nprocessor 0: version = 00,  identification = 0\nprocessor 1: version = 00,  identification = 1\n",
    { model: undefined, count: 2, flags: ["esan3", "zarch"] },
  ],
  [
    "POWER",
    "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 2500MHz\n",
    { model: "POWER9, altivec supported", count: 1, flags: undefined },
  ],
  ["nothing", "", { model: undefined, count: 0, flags: undefined }],
])("cpuinfo of %s", (_, text, expected) => {
  expect(parseCpuInfo(text)).toEqual(expected);
});

test("memory is in MiB, rounded down", () => {
  const text = "MemTotal:       24684092 kB\nMemFree:        100 kB\nSwapTotal:       2097148 kB\n";
  expect(parseMemInfo(text, "MemTotal")).toBe(24_105);
  expect(parseMemInfo(text, "SwapTotal")).toBe(2_047);
  expect(parseMemInfo(text, "Missing")).toBeUndefined();
});

test("without /proc the values come from the runtime", async () => {
  const host = fixtureHost({
    platform: "darwin",
    uname: { type: "Darwin", release: "23.5.0", machine: "arm64" },
  });
  expect((await collectFacts(hardwareFacts, host, manualClock())).facts).toEqual({
    kernel: "Darwin",
    kernelrelease: "23.5.0",
    kernelversion: host.uname.version,
    cpuarch: "arm64",
    cpu_model: "Test CPU",
    num_cpus: 2,
    mem_total: 2048,
  });
});
