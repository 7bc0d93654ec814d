import { expect, test } from "bun:test";
import { callFunction } from "../../../test/harness/call.ts";
import { parseLoad, parseMemory, parseProcess, parseUptime } from "./proc.ts";

test("/proc files are parsed", () => {
  expect(parseLoad("0.52 1.05 2.00 3/812 12345\n")).toEqual({ "1-min": 0.52, "5-min": 1.05, "15-min": 2 });
  expect(parseUptime("1234.56 2000.00\n")).toBe(1234);
  expect(
    parseMemory("MemTotal:       24684092 kB\nActive(anon):    1602 kB\nHugePages_Total:       3\n"),
  ).toEqual({ MemTotal: 24684092 * 1024, "Active(anon)": 1602 * 1024, HugePages_Total: 3 });
  expect(
    parseProcess(
      "Name:\tweird: name)\nState:\tS (sleeping)\nPid:\t42\nPPid:\t1\nUid:\t7\t8\t8\t8\nVmRSS:\t     512 kB\n",
    ),
  ).toEqual({ pid: 42, parent: 1, uid: 7, state: "S", memory: 512 * 1024, name: "weird: name)" });
  expect(parseProcess("")).toBeUndefined();
});

test("status.all describes this host", async () => {
  expect(await callFunction("status.all")).toMatchObject({
    loadavg: { "1-min": expect.any(Number) },
    meminfo: { MemTotal: expect.any(Number), MemAvailable: expect.any(Number) },
    diskusage: {
      "/": { total: expect.any(Number), used: expect.any(Number), available: expect.any(Number) },
    },
    uptime: { seconds: expect.any(Number), since: expect.stringMatching(/^\d{4}-.*Z$/) },
    procs: expect.any(Number),
  });
});

test("status.procs finds this process, and respects the limit", async () => {
  const all = (await callFunction("status.procs", { limit: 2000 })) as {
    total: number;
    procs: { pid: number; memory: number; command: string }[];
  };
  expect(all.procs.find(({ pid }) => pid === process.pid)).toMatchObject({ uid: process.getuid?.() });
  expect(all.procs.map(({ memory }) => memory)).toEqual(
    all.procs.map(({ memory }) => memory).sort((one, other) => other - one),
  );
  expect(await callFunction("status.procs", { limit: 1 })).toMatchObject({ procs: [expect.any(Object)] });
  expect(await callFunction("status.procs", { match: "\u0001 no such" })).toEqual({ total: 0, procs: [] });
});

test("status.diskusage returns an error in place of a path that does not exist", async () => {
  expect(await callFunction("status.diskusage", { paths: ["/", "/nonexistent"] })).toEqual({
    "/": expect.objectContaining({ total: expect.any(Number) }),
    "/nonexistent": { error: "cannot access /nonexistent: no such file" },
  });
});
